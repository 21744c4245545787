package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"dtstore/objstore"
)

// errInjected is what a broken call returns; errOver what every call returns once the history
// is over.
var (
	errInjected = errors.New("injected fault")
	errOver     = errors.New("the process is gone")
)

// view is the store as one process sees it: every call gives way to the others first, and may
// break. Its process is a coroutine: it runs only between two of its calls.
type view struct {
	w      *world
	name   string
	yield  func(struct{}) bool // nil: the calls of a checker, which nothing disturbs
	faults int                 // broken calls so far
	away   int                 // every call fails up to this step
	over   bool
}

// breakage is what happens to a call.
type breakage int

const (
	fine breakage = iota
	fail          // nothing happens, an error returns
	lose          // it happens, an error returns
	late          // an error returns, it happens later
)

func (v *view) enter(op, key string) breakage {
	if v.yield == nil {
		return fine
	}
	if v.over || !v.yield(struct{}{}) {
		v.over = true
		return fail
	}
	f := fine
	switch {
	case v.away > v.w.now:
		f = fail
	case v.w.rng.Float64() < v.w.faultRate:
		f = fail + breakage(v.w.rng.IntN(3))
		if v.w.rng.IntN(8) == 0 {
			v.away = v.w.now + v.w.rng.IntN(300)
		}
	}
	if f != fine {
		v.faults++
	}
	if v.w.trace == nil {
		return f
	}
	v.w.log("%s: %s %s%s", v.name, op, strings.TrimPrefix(key, path+"/"), [...]string{"", " FAILS", " ANSWER LOST", " LANDS LATE"}[f])
	return f
}

func (v *view) err() error {
	if v.over {
		return errOver
	}
	return errInjected
}

// write makes a call that changes the disk.
func (v *view) write(op, key string, do func() error) error {
	switch v.enter(op, key) {
	case fine:
		return do()
	case lose:
		_ = do()
	case late:
		v.w.late = append(v.w.late, lateWrite{v.w.now + v.w.rng.IntN(60), func() {
			v.w.log("%s: %s %s LANDS", v.name, op, strings.TrimPrefix(key, path+"/"))
			_ = do()
		}})
	}
	return v.err()
}

func (v *view) Get(_ context.Context, key string) ([]byte, error) {
	if v.enter("get", key) != fine {
		return nil, v.err()
	}
	o, ok := v.w.disk[key]
	if !ok {
		return nil, fmt.Errorf("get %s: %w", key, objstore.ErrNotExist)
	}
	return o.body, nil
}

func (v *view) GetRange(ctx context.Context, key string, off, n int64) ([]byte, error) {
	panic("not used")
}

func (v *view) Stat(_ context.Context, key string) (objstore.Object, error) {
	if v.enter("stat", key) != fine {
		return objstore.Object{}, v.err()
	}
	o, ok := v.w.disk[key]
	if !ok {
		return objstore.Object{}, fmt.Errorf("stat %s: %w", key, objstore.ErrNotExist)
	}
	return objstore.Object{Key: key, Size: int64(len(o.body)), Modified: o.at}, nil
}

func (v *view) Put(_ context.Context, key string, body []byte) error {
	return v.write("put", key, func() error { return v.w.put(key, body, false) })
}

func (v *view) PutIfAbsent(_ context.Context, key string, body []byte) error {
	return v.write("put if absent", key, func() error { return v.w.put(key, body, true) })
}

func (v *view) PutFile(context.Context, string, string) error { panic("not used") }

func (v *view) Delete(_ context.Context, key string) error {
	return v.write("delete", key, func() error {
		delete(v.w.disk, key)
		return nil
	})
}

func (v *view) List(_ context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		if v.enter("list", prefix) != fine {
			yield(objstore.Object{}, v.err())
			return
		}
		var keys []string
		for key := range v.w.disk {
			if strings.HasPrefix(key, prefix) {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		for _, key := range keys {
			o := v.w.disk[key]
			if !yield(objstore.Object{Key: key, Size: int64(len(o.body)), Modified: o.at}, nil) {
				return
			}
		}
	}
}

func (v *view) Folders(context.Context, string) iter.Seq2[string, error] { panic("not used") }
func (v *view) MakeFolder(context.Context, string) error                 { panic("not used") }

// object is one file on the disk.
type object struct {
	body []byte
	at   time.Time
}

// lateWrite is a request that the network has kept.
type lateWrite struct {
	at int // step
	do func()
}

// put stores an object; a snapshot is shown to the model.
func (w *world) put(key string, body []byte, absent bool) error {
	if _, ok := w.disk[key]; ok && absent {
		return fmt.Errorf("put %s: %w", key, objstore.ErrExist)
	}
	w.disk[key] = object{body, w.clock()}
	if name, ok := strings.CutPrefix(key, path+"/snapshot/snapshot-"); ok {
		w.published(name, body)
	}
	return nil
}
