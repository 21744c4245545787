package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sort"
	"sync"
	"time"
)

// syncPlan is what one round syncs.
type syncPlan struct {
	seen   map[TopicPartition]bool
	files  []*os.File
	spent  []*os.File // of files: segments that are full, to close afterwards
	dirs   []string
	fresh  bool // a partition is synced for the first time
	moved  map[TopicPartition]listing
	rolled map[TopicPartition]int64 // base of the new last segment: all below will be on the disk
	err    error
}

func newSyncPlan() *syncPlan {
	return &syncPlan{
		seen:   map[TopicPartition]bool{},
		moved:  map[TopicPartition]listing{},
		rolled: map[TopicPartition]int64{},
	}
}

// maxSyncs bounds the threads that one round occupies.
const maxSyncs = 32

// syncAll syncs files, then folders: a name on the disk has its bytes there.
func (p *syncPlan) syncAll(datasync func(*os.File) error) error {
	if err := parallel(p.files, datasync); err != nil {
		return err
	}
	return parallel(p.dirs, syncDir)
}

// parallel calls fn for all items at once, within maxSyncs.
func parallel[T any](items []T, fn func(T) error) error {
	if len(items) == 1 {
		return fn(items[0])
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		all   error
		limit = make(chan struct{}, maxSyncs)
	)
	for _, it := range items {
		limit <- struct{}{}
		wg.Go(func() {
			defer func() { <-limit }()
			if err := fn(it); err != nil {
				mu.Lock()
				all = errors.Join(all, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return all
}

// activeFile is the end of one partition: the segment that kfake appends to.
//
// kfake begins a new segment without telling and without syncing the old one.
// It is noticed by the folder's modification time.
type activeFile struct {
	dir  string
	base int64    // of the segment; all before it are on the disk
	file *os.File // nil until the first sync of a partition that is new
	seen listing
}

// listing is a look at a partition's folder.
type listing struct {
	dir  fs.FileInfo
	at   time.Time // when the look began
	base int64
	file *os.File
}

// settleTime is how long a folder must have been left alone before its
// modification time can be trusted to change at the next new file: file
// systems count it in ticks of up to 10 ms.
const settleTime = 50 * time.Millisecond

// plan adds to p what of the partition is not on the disk. fs.ErrNotExist: the
// partition is not there.
func (a *activeFile) plan(p *syncPlan, tp TopicPartition) error {
	at := time.Now()
	dir, err := os.Stat(a.dir)
	if err != nil {
		return err
	}
	if a.file != nil && os.SameFile(dir, a.seen.dir) && dir.ModTime().Equal(a.seen.dir.ModTime()) &&
		a.seen.at.Sub(dir.ModTime()) > settleTime {
		p.files = append(p.files, a.file)
		return nil
	}
	known := a.unreplaced(dir)
	bases, _, err := listSegments(a.dir)
	if err != nil {
		return err
	}
	if known {
		bases = bases[sort.Search(len(bases), func(i int) bool { return bases[i] >= a.base }):]
	}
	if len(bases) == 0 {
		return fmt.Errorf("%s holds no segment: %w", a.dir, fs.ErrNotExist)
	}
	files, err := a.openSegments(bases, known)
	if err != nil {
		return err
	}
	end := len(files) - 1
	next := listing{dir: dir, at: at, base: bases[end], file: files[end]}
	p.files = append(p.files, files...)
	p.spent = append(p.spent, files[:end]...)
	if !known || next.base != a.base {
		p.dirs = append(p.dirs, a.dir)
		p.rolled[tp] = next.base
	}
	p.fresh = p.fresh || !known
	p.moved[tp] = next
	return nil
}

// openSegments opens the segments of a partition, or of none of them.
func (a *activeFile) openSegments(bases []int64, known bool) ([]*os.File, error) {
	var files []*os.File
	for _, base := range bases {
		if known && base == a.base {
			files = append(files, a.file)
			continue
		}
		f, err := os.Open(segment{base: base}.dat(a.dir))
		if err != nil { // trimmed meanwhile, or dropped
			for _, f := range files {
				if f != a.file {
					f.Close()
				}
			}
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// unreplaced reports whether what is known of the partition holds, that is,
// whether our open file is still the one of its name: a topic can be dropped
// and made anew.
func (a *activeFile) unreplaced(dir fs.FileInfo) bool {
	if a.file == nil || a.seen.dir != nil && !os.SameFile(dir, a.seen.dir) {
		return false
	}
	ours, err := a.file.Stat()
	if err != nil {
		return false
	}
	theirs, err := os.Stat(a.file.Name())
	return err == nil && os.SameFile(ours, theirs)
}

// moveTo takes a listing over once all in it is on the disk.
func (a *activeFile) moveTo(l listing) {
	if a.file != l.file {
		a.forget()
	}
	a.base, a.file, a.seen = l.base, l.file, l
}

// forget closes the file: the partition is gone, or the server is.
func (a *activeFile) forget() {
	if a.file != nil {
		a.file.Close()
		a.file = nil
	}
}
