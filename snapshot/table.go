package snapshot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dtstore/objstore"
	"dtstore/table"

	"github.com/google/uuid"
)

// Table is the history of one table in a store. It holds nothing but copies of immutable
// objects; any number of goroutines may use it, and any number of processes the same table.
type Table struct {
	store objstore.Store
	path  string // "db.db/t"
	cache *Cache

	newID  func() string // a uuid
	now    func() time.Time
	pause  func(ctx context.Context, try int) error // waits before the try-th retry
	broken broken

	mu      sync.Mutex
	latest  *Snapshot               // guarded by mu: the newest one seen
	schemas map[int64]*table.Schema // guarded by mu: by id; of the table that latest belongs to
}

// broken switches off one rule each. Only the simulation sets any, to show that it would notice.
type broken struct {
	look      bool // does not look for its own commit
	fence     bool // does not check identity, From and base
	live      bool // does not check that removed files are live
	absent    bool // puts a snapshot whether one is there or not
	base      bool // does not look whether its base is still there
	deletions bool // deletes its files when it does not know
}

// Open returns the table whose folder is path. Nothing is read.
func Open(store objstore.Store, path string) *Table {
	return OpenShared(store, path, NewCache(0))
}

// OpenShared is Open with a cache that other tables use too.
func OpenShared(store objstore.Store, path string, cache *Cache) *Table {
	return &Table{store: store, path: path, cache: cache, newID: uuid.NewString, now: time.Now, pause: pause}
}

// pause waits 10 ms, doubled with each try up to 2 s, and up to a fifth more.
func pause(ctx context.Context, try int) error {
	d := min(10*time.Millisecond<<min(try-1, 20), 2*time.Second)
	d += time.Duration(rand.Int64N(int64(d)/5 + 1))
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

const snapshotPrefix = "snapshot-"

func (t *Table) key(folder, name string) string { return t.path + "/" + folder + "/" + name }

func (t *Table) snapshotKey(id table.SnapshotID) string {
	return t.key("snapshot", snapshotPrefix+strconv.FormatInt(int64(id), 10))
}

// Latest returns the newest snapshot. ErrNone if there is none, ErrDropped if the newest marks
// the table as dropped.
//
// It does not believe the file LATEST, which may be old by a crash and wrong by a race; it is
// written for other readers. The newest snapshot seen before serves instead: if N was the newest
// once, N+1 is not there now, and after that N is found unchanged, then N is the newest still,
// because numbers are freed in ascending order. Else the folder is listed.
func (t *Table) Latest(ctx context.Context) (*Snapshot, error) {
	s, err := t.newest(ctx)
	if err != nil {
		return nil, err
	}
	if s.Dropped() {
		return nil, fmt.Errorf("table %s: %w", t.path, ErrDropped)
	}
	return s, nil
}

// newest is Latest, but returns the mark of a dropped table as it is.
func (t *Table) newest(ctx context.Context) (*Snapshot, error) {
	t.mu.Lock()
	last := t.latest
	t.mu.Unlock()
	if last != nil {
		ok, err := t.isNewest(ctx, last)
		if err != nil {
			return nil, err
		}
		if ok {
			return last, nil
		}
	}
	for range listTries {
		h, err := t.list(ctx)
		damaged := errors.Is(err, errDamaged)
		if err != nil && !damaged {
			return nil, err
		}
		if damaged && len(h.ids) == 0 {
			return nil, err
		}
		if len(h.ids) == 0 {
			if h.dropped != nil {
				return nil, fmt.Errorf("table %s: %w; %w", t.path, ErrDropped, ErrNone)
			}
			return nil, fmt.Errorf("table %s: %w", t.path, ErrNone)
		}
		s, err := t.Read(ctx, h.ids[len(h.ids)-1])
		if errors.Is(err, objstore.ErrNotExist) {
			continue // expired between the two calls: there is a newer one
		}
		if err != nil {
			return nil, err
		}
		if damaged && !s.Dropped() {
			return nil, fmt.Errorf("read mark of dropped table %s: %w", t.path, errDamaged)
		}
		t.remember(s)
		return s, nil
	}
	return nil, fmt.Errorf("table %s: the newest snapshot went away %d times while it was read", t.path, listTries)
}

// listTries bounds how often a listing is repeated that others have made old.
const listTries = 10

func (t *Table) isNewest(ctx context.Context, s *Snapshot) (bool, error) {
	switch _, err := t.store.Stat(ctx, t.snapshotKey(s.ID+1)); {
	case err == nil:
		return false, nil
	case !errors.Is(err, objstore.ErrNotExist):
		return false, fmt.Errorf("look for snapshot %d of %s: %w", s.ID+1, t.path, err)
	}
	return t.unchanged(ctx, s)
}

// unchanged tells whether the file of s is still what it was.
func (t *Table) unchanged(ctx context.Context, s *Snapshot) (bool, error) {
	b, err := t.store.Get(ctx, t.snapshotKey(s.ID))
	switch {
	case errors.Is(err, objstore.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read snapshot %d of %s: %w", s.ID, t.path, err)
	}
	return bytes.Equal(b, s.raw), nil
}

// remember keeps s as the newest snapshot seen. Only what a listing or a commit has shown to be
// the newest comes here.
func (t *Table) remember(s *Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.latest == nil || s.ID > t.latest.ID {
		if t.latest == nil || !sameLog(t.latest, s) {
			t.schemas = nil // perhaps another table with the same ids
		}
		t.latest = s
	}
}

func sameLog(a, b *Snapshot) bool {
	x, _, okX := a.Log()
	y, _, okY := b.Log()
	return okX && okY && x == y
}

// Read returns one snapshot; objstore.ErrNotExist if it has expired or never was.
func (t *Table) Read(ctx context.Context, id table.SnapshotID) (*Snapshot, error) {
	key := t.snapshotKey(id)
	b, err := t.store.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read snapshot %d of %s: %w", id, t.path, err)
	}
	if c, ok := t.cache.get(key); ok && bytes.Equal(c.snapshot.raw, b) {
		return c.snapshot, nil
	}
	s, err := Decode(b)
	if err != nil {
		return nil, fmt.Errorf("read snapshot %d of %s: %w", id, t.path, err)
	}
	if s.ID != id {
		return nil, fmt.Errorf("read snapshot %d of %s: the file says %d", id, t.path, s.ID)
	}
	t.cache.put(&cached{key: key, bytes: int64(4*len(b) + 512), snapshot: s})
	return s, nil
}

// List returns the ids of the snapshots that can be read, ascending.
func (t *Table) List(ctx context.Context) ([]table.SnapshotID, error) {
	h, err := t.list(ctx)
	if err != nil {
		return nil, err
	}
	return h.chain(), nil
}

// history is what the snapshot folder holds.
type history struct {
	ids     []table.SnapshotID // ascending; those of a table dropped before are left out
	dropped *droppedFile
}

// chain returns the ids that end at the newest without a hole. What lies below a hole was put
// by a committer that took a freed number, and is about to be taken back.
func (h history) chain() []table.SnapshotID {
	i := len(h.ids) - 1
	for i > 0 && h.ids[i-1] == h.ids[i]-1 {
		i--
	}
	return h.ids[max(i, 0):]
}

// errDamaged is returned for a snapshot/dropped that cannot be read. A DROP broken off while it
// wrote the file has left its last snapshot too, which says the same: then it does not matter,
// and the DROP that finishes writes it again.
var errDamaged = errors.New("file is damaged")

// droppedFile is snapshot/dropped: what a dropped table leaves. Numbers up to ID are used up.
type droppedFile struct {
	ID      table.SnapshotID `json:"id"`
	TopicID LogID            `json:"topicId"`
}

func (t *Table) list(ctx context.Context) (history, error) {
	var h history
	marked := false
	prefix := t.key("snapshot", "")
	for o, err := range t.store.List(ctx, prefix) {
		if err != nil {
			return h, fmt.Errorf("list snapshots of %s: %w", t.path, err)
		}
		name := strings.TrimPrefix(o.Key, prefix)
		if name == "dropped" {
			marked = true
		}
		if id, ok := snapshotID(name); ok {
			h.ids = append(h.ids, id)
		}
	}
	slices.Sort(h.ids)
	if !marked {
		return h, nil
	}
	d, err := t.readDropped(ctx)
	if err != nil || d == nil {
		return h, err
	}
	h.dropped = d
	i, _ := slices.BinarySearch(h.ids, d.ID+1)
	h.ids = h.ids[i:]
	return h, nil
}

// snapshotID parses the name of a snapshot file; other files may lie beside it.
func snapshotID(name string) (table.SnapshotID, bool) {
	digits, ok := strings.CutPrefix(name, snapshotPrefix)
	id, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || id < 1 || strconv.FormatInt(id, 10) != digits {
		return 0, false
	}
	return table.SnapshotID(id), true
}

// readDropped returns what a dropped table has left here, nil if nothing.
func (t *Table) readDropped(ctx context.Context) (*droppedFile, error) {
	b, err := t.store.Get(ctx, t.key("snapshot", "dropped"))
	if errors.Is(err, objstore.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read mark of dropped table %s: %w", t.path, err)
	}
	var d droppedFile
	if err := json.Unmarshal(b, &d); err != nil || d.ID < 1 {
		return nil, fmt.Errorf("read mark of dropped table %s: %w", t.path, errDamaged)
	}
	return &d, nil
}
