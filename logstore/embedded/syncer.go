package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// syncer puts the log on the disk, for all callers together: what arrives
// while a round runs goes out in the next one.
type syncer struct {
	dir      string
	kafka    string
	watch    *watch
	datasync func(*os.File) error // of a file; a test's looks on

	mu      sync.Mutex // guards queue, closed and sends to wake
	queue   []*syncRequest
	closed  bool
	wake    chan struct{} // capacity 1
	stopped chan error    // run's end

	// run's own.
	notes   *noteBook
	files   map[TopicPartition]*activeFile
	durable map[string]int64 // what durable.json says
}

// syncRequest is one caller's part of a round.
type syncRequest struct {
	parts []TopicPartition
	note  *Note // to write
	ended *Note // to retire
	done  chan error
}

var errClosed = errors.New("the embedded log is closed")

// newSyncer starts a syncer. parts are the partitions as the seal left them:
// all on the disk.
func newSyncer(dir string, w *watch, parts []*partition) (*syncer, error) {
	notes, err := openNoteBook(dir)
	if err != nil {
		return nil, err
	}
	s := &syncer{
		dir:      dir,
		kafka:    filepath.Join(dir, kafkaDir),
		watch:    w,
		datasync: datasync,
		wake:     make(chan struct{}, 1),
		stopped:  make(chan error, 1),
		notes:    notes,
		files:    map[TopicPartition]*activeFile{},
		durable:  map[string]int64{},
	}
	for _, p := range parts {
		if !p.hasBatches {
			continue
		}
		last := p.segments[len(p.segments)-1]
		f, err := os.Open(last.dat(p.dir))
		if err != nil {
			s.forgetAll()
			return nil, errors.Join(err, notes.close())
		}
		s.files[p.TopicPartition] = &activeFile{dir: p.dir, base: last.base, file: f}
		s.durable[durableKey(p.id, p.Partition)] = p.next
	}
	go s.run()
	return s, nil
}

// do queues a request and waits for its round.
func (s *syncer) do(ctx context.Context, r *syncRequest) error {
	r.done = make(chan error, 1)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errClosed
	}
	s.queue = append(s.queue, r)
	select {
	case s.wake <- struct{}{}:
	default:
	}
	s.mu.Unlock()
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stop ends the syncer after a last round over every partition.
func (s *syncer) stop() error {
	s.mu.Lock()
	s.closed = true
	close(s.wake)
	s.mu.Unlock()
	return <-s.stopped
}

// run is the only goroutine that syncs. It ends when wake is closed.
func (s *syncer) run() {
	for range s.wake {
		s.mu.Lock()
		reqs := s.queue
		s.queue = nil
		s.mu.Unlock()
		if len(reqs) > 0 {
			s.round(reqs)
		}
	}
	s.stopped <- s.last()
}

// round answers the requests.
func (s *syncer) round(reqs []*syncRequest) {
	fail := func(err error) {
		for _, r := range reqs {
			r.done <- err
		}
	}
	if err := s.watch.err(); err != nil {
		fail(err)
		return
	}
	plan, missing := s.plan(reqs)
	err := s.write(plan, reqs)
	if err == nil {
		err = plan.syncAll(s.datasync)
	}
	if err == nil {
		err = s.landed(plan)
	}
	if err != nil {
		fail(s.watch.fail(err))
		return
	}
	// A write of kfake's that failed is not in the files we have synced.
	if err := s.watch.err(); err != nil {
		fail(err)
		return
	}
	for _, r := range reqs {
		r.done <- s.answer(r, missing)
	}
}

// answer is the outcome of one request of a round that went well.
func (s *syncer) answer(r *syncRequest, missing map[TopicPartition]error) error {
	if r.ended != nil {
		s.notes.retire(*r.ended)
		return nil // a partition deleted since has no markers to keep
	}
	for _, tp := range r.parts {
		if err := missing[tp]; err != nil {
			return err
		}
	}
	return nil
}

// plan finds out which files to sync. missing has the partitions that are no
// longer there; any other fault makes the plan fail.
func (s *syncer) plan(reqs []*syncRequest) (*syncPlan, map[TopicPartition]error) {
	plan := newSyncPlan()
	missing := map[TopicPartition]error{}
	for _, r := range reqs {
		for _, tp := range r.parts {
			s.planPart(plan, missing, tp)
		}
		if r.note == nil {
			continue
		}
		// The note before it of the same producer goes with this round, so
		// its markers must be in it.
		for _, tp := range s.notes.open[r.note.producer()].note.partitions() {
			s.planPart(plan, missing, tp)
		}
	}
	return plan, missing
}

func (s *syncer) planPart(plan *syncPlan, missing map[TopicPartition]error, tp TopicPartition) {
	if plan.seen[tp] || plan.err != nil {
		return
	}
	plan.seen[tp] = true
	f := s.files[tp]
	if f == nil {
		f = &activeFile{dir: filepath.Join(s.kafka, "partitions", partitionDir(tp))}
		s.files[tp] = f
	}
	var err error
	for range 3 { // a segment may be trimmed between the look and the opening
		if err = f.plan(plan, tp); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		f.forget()
		delete(s.files, tp)
		missing[tp] = fmt.Errorf("sync log %s-%d: %w", tp.Topic, tp.Partition, err)
	} else if err != nil {
		plan.err = fmt.Errorf("sync log %s-%d: %w", tp.Topic, tp.Partition, err)
	}
}

// write writes the notes of the round; their file is synced with the rows.
func (s *syncer) write(plan *syncPlan, reqs []*syncRequest) error {
	if plan.err != nil {
		return plan.err
	}
	var notes []Note
	for _, r := range reqs {
		if r.note != nil {
			notes = append(notes, *r.note)
		}
	}
	if plan.fresh {
		// The first rows of a topic: without its name in topics.json, or its
		// folder, they are nowhere.
		plan.dirs = append(plan.dirs, s.kafka, filepath.Join(s.kafka, "partitions"))
	}
	if len(notes) == 0 {
		return nil
	}
	f, err := s.notes.write(notes)
	if err != nil {
		return err
	}
	plan.files = append(plan.files, f)
	return nil
}

// landed takes note of what is on the disk now.
func (s *syncer) landed(plan *syncPlan) error {
	for tp, next := range plan.moved {
		s.files[tp].moveTo(next)
	}
	for _, f := range plan.spent {
		f.Close() // synced: nothing can fail any more
	}
	if len(plan.rolled) == 0 {
		return nil
	}
	parts, err := readTopics(s.kafka)
	if err != nil {
		return err
	}
	exist := map[TopicPartition]bool{}
	for _, lp := range parts {
		exist[lp.TopicPartition] = true
		if base, ok := plan.rolled[lp.TopicPartition]; ok {
			s.durable[durableKey(lp.id, lp.Partition)] = base
		}
	}
	for tp, f := range s.files {
		if !exist[tp] {
			f.forget()
			delete(s.files, tp)
		}
	}
	return storeDurable(s.dir, s.durable)
}

// last syncs everything at the end, after kfake has closed its files.
func (s *syncer) last() error {
	s.mu.Lock()
	for _, r := range s.queue {
		r.done <- errClosed
	}
	s.queue = nil
	s.mu.Unlock()
	err := s.watch.err()
	if err == nil {
		err = s.syncEverything()
	}
	s.forgetAll()
	return errors.Join(err, s.notes.close())
}

func (s *syncer) forgetAll() {
	for _, f := range s.files {
		f.forget()
	}
}

func (s *syncer) syncEverything() error {
	parts, err := readTopics(s.kafka)
	if err != nil {
		return err
	}
	plan, missing := newSyncPlan(), map[TopicPartition]error{}
	for _, lp := range parts {
		s.planPart(plan, missing, lp.TopicPartition)
	}
	if err := s.write(plan, nil); err != nil {
		return err
	}
	// What kfake writes when it closes: who holds which producer id and epoch,
	// the groups' offsets.
	for _, name := range []string{"pids.log", "groups.log", "seq_windows.json"} {
		f, err := os.Open(filepath.Join(s.kafka, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		plan.files, plan.spent = append(plan.files, f), append(plan.spent, f)
	}
	plan.dirs = append(plan.dirs, s.kafka)
	if err := plan.syncAll(s.datasync); err != nil {
		return err
	}
	return s.landed(plan)
}
