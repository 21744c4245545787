package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// segment is one pair of files, BASE.dat and BASE.idx.
type segment struct {
	base  int64 // offset of its first batch: its name
	bytes int64
}

func (s segment) dat(dir string) string {
	return filepath.Join(dir, strconv.FormatInt(s.base, 10)+".dat")
}
func (s segment) idx(dir string) string {
	return filepath.Join(dir, strconv.FormatInt(s.base, 10)+".idx")
}

// openTxn is a transaction with rows and no marker behind them.
type openTxn struct {
	first, last int64 // offsets of its rows, both inclusive
	epoch       int16
}

// partition is what the seal knows of one partition's files once they are mended.
type partition struct {
	logPartition
	dir          string
	segments     []segment
	start        int64 // first offset that readers may ask for
	next         int64 // first offset not written
	leaderEpoch  int32
	maxTimestamp int64
	created      int64 // timestamp of the oldest batch, ms
	hasBatches   bool
	open         map[int64]*openTxn // by producer id
	aborted      []abortedTxn
	markers      map[int64][]endMarker // of the producers that a note names
	changed      bool                  // a segment was cut, removed or appended to
}

// endMarker is the end of a transaction in one partition.
type endMarker struct {
	offset int64
	commit bool
}

// scanPartition reads the partition's files and mends what a crash can have
// done to them: it cuts the log at the first damaged batch, writes anew each
// index that does not fit its segment, and removes stray files. durable is
// an offset below which everything was once on the disk: damage there is no
// crash's work and is refused. watched are the producers whose markers to keep.
//
// A partition without a folder is empty.
func scanPartition(root string, lp logPartition, durable int64, watched map[int64]bool) (*partition, error) {
	p := &partition{
		logPartition: lp,
		dir:          filepath.Join(root, "partitions", partitionDir(lp.TopicPartition)),
		open:         map[int64]*openTxn{},
		markers:      map[int64][]endMarker{},
	}
	bases, err := p.list()
	if err != nil || len(bases) == 0 {
		return p, err
	}
	for i, base := range bases {
		r, err := p.readSegment(base, durable, watched)
		if err != nil {
			return nil, fmt.Errorf("log %s-%d: %w", p.Topic, p.Partition, err)
		}
		if r.damage != "" && p.next < durable && !p.compacted {
			return nil, p.damaged(base, r.damage)
		}
		if err := p.mend(r); err != nil {
			return nil, err
		}
		if r.damage == "" {
			continue
		}
		// Nothing behind the damage was acknowledged: it would have been
		// synced, and with it all before it.
		for _, later := range bases[i+1:] {
			if err := p.remove(segment{base: later}); err != nil {
				return nil, err
			}
		}
		break
	}
	if p.next < durable && !p.compacted {
		return nil, p.damaged(bases[len(bases)-1], "the log is shorter than it was")
	}
	return p, p.findStart()
}

func (p *partition) damaged(base int64, what string) error {
	return fmt.Errorf("log %s-%d: damage in what was already on the disk, at offset %d in %s: %s; restore the data directory from a copy",
		p.Topic, p.Partition, p.next, segment{base: base}.dat(p.dir), what)
}

// list returns the bases of the segments in order, after removing index
// files without a segment: a later segment of that name would append to them.
func (p *partition) list() ([]int64, error) {
	bases, indexes, err := listSegments(p.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, base := range indexes {
		if _, ok := slices.BinarySearch(bases, base); !ok {
			if err := os.Remove(segment{base: base}.idx(p.dir)); err != nil {
				return nil, err
			}
		}
	}
	return bases, nil
}

// listSegments returns the bases of the segment and of the index files in a
// partition's folder, each in order.
func listSegments(dir string) (dats, idxs []int64, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		base, ext, _ := strings.Cut(name, ".")
		n, err := strconv.ParseInt(base, 10, 64)
		if err != nil || n < 0 || strconv.FormatInt(n, 10) != base {
			continue
		}
		switch ext {
		case "dat":
			dats = append(dats, n)
		case "idx":
			idxs = append(idxs, n)
		}
	}
	slices.Sort(dats)
	slices.Sort(idxs)
	return dats, idxs, nil
}

// readResult is what a segment's file holds.
type readResult struct {
	segment        // its good part
	size    int64  // of the file
	index   []byte // what belongs into the index file
	damage  string // why the good part ends before the file; empty if it does not
}

// readSegment reads the batches of one segment. It changes no file.
func (p *partition) readSegment(base, durable int64, watched map[int64]bool) (readResult, error) {
	r := readResult{segment: segment{base: base}}
	f, err := os.Open(r.dat(p.dir))
	if err != nil {
		return r, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return r, err
	}
	r.size = st.Size()
	if p.hasBatches && base > p.next && !p.compacted {
		if p.next >= durable {
			r.damage = "the next segment begins later"
			return r, nil
		}
		// All this was on the disk once. Trimming removes files from the
		// front, and a power cut can bring one of them back.
		p.start = base
	}
	r.bytes, r.damage, err = readBatches(f, r.size, max(p.next, base), func(b *batch) error {
		r.index = p.take(b, watched, r.index)
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("read %s: %w", r.dat(p.dir), err)
	}
	return r, nil
}

// mend cuts a segment's file to its good part and makes its index fit. A
// segment without a whole batch is removed.
func (p *partition) mend(r readResult) error {
	p.changed = p.changed || r.bytes < r.size
	if r.bytes == 0 {
		return p.remove(r.segment)
	}
	if r.bytes < r.size {
		if err := os.Truncate(r.dat(p.dir), r.bytes); err != nil {
			return err
		}
	}
	p.segments = append(p.segments, r.segment)
	return p.mendIndex(r.segment, r.index)
}

// take adds one batch to what is known of the partition and its entry to the
// index.
func (p *partition) take(b *batch, watched map[int64]bool, index []byte) []byte {
	if !p.hasBatches {
		p.hasBatches, p.start, p.created = true, max(p.start, b.first), b.firstTimestamp
		p.maxTimestamp = b.maxTimestamp
	}
	p.maxTimestamp = max(p.maxTimestamp, b.maxTimestamp)
	p.next, p.leaderEpoch = b.last+1, b.leaderEpoch
	id := b.producer.id
	switch open := p.open[id]; {
	case b.control:
		if open != nil && !b.commit {
			p.aborted = append(p.aborted, abortedTxn{id, open.first, b.first})
		}
		delete(p.open, id)
		if watched[id] {
			p.markers[id] = append(p.markers[id], endMarker{b.first, b.commit})
		}
	case b.inTx() && open == nil:
		p.open[id] = &openTxn{b.first, b.last, b.producer.epoch}
	case b.inTx():
		open.last, open.epoch = b.last, b.producer.epoch
	}
	return appendIndexEntry(index, b, p.maxTimestamp)
}

func (p *partition) remove(s segment) error {
	err := os.Remove(s.dat(p.dir))
	if idx := os.Remove(s.idx(p.dir)); !errors.Is(idx, fs.ErrNotExist) {
		err = errors.Join(err, idx)
	}
	return err
}

// mendIndex replaces the index of s unless it says what index says. Without
// the flags in it kfake shows the rows of an open transaction.
func (p *partition) mendIndex(s segment, index []byte) error {
	have, err := os.ReadFile(s.idx(p.dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if indexAgrees(have, index) {
		return nil
	}
	if foreignIndex(have) {
		return checkVersion(s.idx(p.dir), int(have[0]))
	}
	return writeFile(s.idx(p.dir), index, false)
}

// findStart takes the log start that kfake saved or we did, if it is later
// than the oldest batch: a trim goes into the middle of a segment.
func (p *partition) findStart() error {
	var old snapshotFile
	found, err := readJSON(p.snapshotPath(), &old)
	if err != nil || !found {
		return nil // torn by a crash: the oldest batch it is
	}
	if err := checkVersion(p.snapshotPath(), old.Version); err != nil {
		return err
	}
	p.start = min(max(p.start, old.LogStartOffset), p.next)
	return nil
}

func (p *partition) snapshotPath() string { return filepath.Join(p.dir, "snapshot.json") }

// end appends the marker that ends the open transaction of a producer. The
// caller syncs.
func (p *partition) end(id int64, commit bool, now time.Time) error {
	open := p.open[id]
	who := producer{id, open.epoch}
	s := &p.segments[len(p.segments)-1]
	m := marker(p.next, p.leaderEpoch, who, commit, now)
	if err := appendFile(s.dat(p.dir), m, false); err != nil {
		return err
	}
	b, damage := parseHeader(m)
	if damage != "" {
		panic("embedded: our own marker is unreadable: " + damage)
	}
	b.commit = commit
	s.bytes += int64(len(m))
	p.changed = true
	return appendFile(s.idx(p.dir), p.take(b, nil, nil), false)
}

// sync puts the segments from the one that holds offset durable on, and the
// folder, on the disk.
func (p *partition) sync(durable int64) error {
	for i, s := range p.segments {
		if i+1 < len(p.segments) && p.segments[i+1].base <= durable {
			continue
		}
		if err := syncFile(s.dat(p.dir)); err != nil {
			return err
		}
	}
	return syncDir(p.dir)
}

// createdAt is a client's timestamp as a time that JSON can write.
func createdAt(millis int64) time.Time {
	t := time.UnixMilli(millis).UTC()
	if y := t.Year(); y < 1 || y > 9999 {
		return time.Unix(0, 0).UTC()
	}
	return t
}

// writeSnapshot writes the snapshot.json that kfake opens the partition
// from. Without one that fits it reads the whole log into memory at once, and
// forgets where the log starts.
func (p *partition) writeSnapshot() error {
	if !p.hasBatches {
		return nil
	}
	s := snapshotFile{
		Version:          formatVersion,
		HighWatermark:    p.next,
		LastStableOffset: p.next, // every transaction has ended
		LogStartOffset:   p.start,
		Epoch:            p.leaderEpoch,
		MaxTimestamp:     p.maxTimestamp,
		CreatedAt:        createdAt(p.created),
		AbortedTxns:      p.aborted,
	}
	for _, seg := range p.segments {
		s.Segments = append(s.Segments, snapshotSegment{BaseOffset: seg.base, Size: seg.bytes})
	}
	body, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode %s: %w", p.snapshotPath(), err)
	}
	if have, err := os.ReadFile(p.snapshotPath()); err == nil && string(have) == string(body) {
		return nil
	}
	return writeFile(p.snapshotPath(), body, false)
}
