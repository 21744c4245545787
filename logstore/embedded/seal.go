package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Names in the data directory. Everything else in it is kfake's, in kafkaDir.
const (
	kafkaDir    = "kafka"
	lockName    = "lock"
	durableName = "durable.json"
)

// seal makes the files of dir (our data directory) such that kfake, opening
// them, shows exactly what was acknowledged: see doc.go. It may be cut off at
// any point and run again. It returns the partitions as they are now.
func seal(ctx context.Context, dir string) ([]*partition, error) {
	kafka := filepath.Join(dir, kafkaDir)
	parts, err := readTopics(kafka)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(mendEntryLog(filepath.Join(kafka, "pids.log")), mendEntryLog(filepath.Join(kafka, "groups.log"))); err != nil {
		return nil, err
	}
	notes, err := readNotes(dir)
	if err != nil {
		return nil, err
	}
	durable, err := readDurable(dir)
	if err != nil {
		return nil, err
	}
	scanned, err := scanAll(ctx, kafka, parts, notes, durable)
	if err != nil {
		return nil, err
	}
	if err := endTransactions(kafka, scanned, notes); err != nil {
		return nil, err
	}
	if err := settle(ctx, kafka, scanned, durable); err != nil {
		return nil, err
	}
	// Transactions in progress, groups and fetch sessions of a clean stop: the
	// transactions have ended now, the clients find new sessions by themselves.
	if err := os.Remove(filepath.Join(kafka, "session_state.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return scanned, writeDurable(dir, scanned)
}

// scanAll scans and mends every partition.
func scanAll(ctx context.Context, kafka string, parts []logPartition, notes []Note, durable durableEnds) ([]*partition, error) {
	watched := map[int64]bool{}
	for _, n := range notes {
		watched[n.ProducerID] = true
	}
	scanned := make([]*partition, len(parts))
	err := each(ctx, parts, func(i int, lp logPartition) error {
		p, err := scanPartition(kafka, lp, durable.of(lp), watched)
		scanned[i] = p
		return err
	})
	return scanned, err
}

// endTransactions appends the marker that every open transaction lacks.
func endTransactions(kafka string, parts []*partition, notes []Note) error {
	commits, err := decide(parts, notes)
	if err != nil {
		return err
	}
	ended := map[producer]bool{}
	for _, p := range parts {
		for id, open := range p.open {
			ended[producer{id, open.epoch}] = commits[p.openKey(id)]
		}
	}
	// First, so that who is cut off between the two does it again.
	if err := fence(filepath.Join(kafka, "pids.log"), ended); err != nil {
		return fmt.Errorf("fence producers: %w", err)
	}
	now := time.Now()
	for _, p := range parts {
		for _, id := range slices.Sorted(maps.Keys(p.open)) {
			if err := p.end(id, commits[p.openKey(id)], now); err != nil {
				return fmt.Errorf("end a transaction in log %s-%d: %w", p.Topic, p.Partition, err)
			}
		}
	}
	return nil
}

// openKey names the rows of one open transaction in one partition.
type openKey struct {
	topic     topicID
	partition int32
	producer  int64
	last      int64
}

func (p *partition) openKey(producerID int64) openKey {
	return openKey{p.id, p.Partition, producerID, p.open[producerID].last}
}

// partKey names a partition over re-creations of its topic.
type partKey struct {
	topic     topicID
	partition int32
}

// decide returns which open transactions are to be committed: those with a
// note, unless the note is void. It only decides; all other open transactions
// are aborted.
func decide(parts []*partition, notes []Note) (map[openKey]bool, error) {
	byKey := map[partKey]*partition{}
	for _, p := range parts {
		byKey[partKey{p.id, p.Partition}] = p
	}
	commits := map[openKey]bool{}
	for _, n := range notes {
		commit, err := decideNote(byKey, n)
		if err != nil {
			return nil, err
		}
		if !commit {
			continue
		}
		for _, np := range n.Parts {
			id, _ := parseTopicID(np.TopicID)
			if p := byKey[partKey{id, np.Partition}]; p != nil && p.holds(n, np) {
				commits[openKey{id, np.Partition, n.ProducerID, np.Last}] = true
			}
		}
	}
	return commits, nil
}

// decideNote says how the noted transaction ended or is to end:
//
//  1. a marker behind its rows, in any partition, has decided it;
//  2. else it is committed if all of its rows are there;
//  3. else it is aborted: EndTxn was not sent, since the note and the rows are
//     synced together before.
//
// Partitions of topics that were dropped have no say.
func decideNote(parts map[partKey]*partition, n Note) (commit bool, err error) {
	whole := true
	var markers []endMarker
	var short *NotedPart
	for i, np := range n.Parts {
		id, err := parseTopicID(np.TopicID)
		if err != nil {
			return false, err
		}
		p := parts[partKey{id, np.Partition}]
		if p == nil {
			continue
		}
		if m, ok := p.endOf(n.ProducerID, np.Last); ok {
			markers = append(markers, m)
			continue
		}
		if !p.holds(n, np) {
			whole = false
		}
		if p.next <= np.Last {
			short = &n.Parts[i]
		}
	}
	if len(markers) == 0 {
		return whole, nil
	}
	commit = slices.ContainsFunc(markers, func(m endMarker) bool { return m.commit })
	if commit && short != nil {
		return false, fmt.Errorf("log %s-%d ends before offset %d, which a committed transaction wrote: the disk lost what it had confirmed; restore the data directory from a copy",
			short.Topic, short.Partition, short.Last)
	}
	return commit, nil
}

// endOf finds the marker that ended the producer's transaction whose last row
// here is at last: the first behind it.
func (p *partition) endOf(producerID, last int64) (endMarker, bool) {
	for _, m := range p.markers[producerID] {
		if m.offset > last {
			return m, true
		}
	}
	return endMarker{}, false
}

// holds reports whether the noted transaction is open here with all its rows.
func (p *partition) holds(n Note, np NotedPart) bool {
	open := p.open[n.ProducerID]
	return open != nil && open.last == np.Last && open.epoch == n.ProducerEpoch
}

// settle puts on the disk what the crash or the seal left in memory, and
// writes the snapshots.
func settle(ctx context.Context, kafka string, parts []*partition, durable durableEnds) error {
	err := each(ctx, parts, func(_ int, p *partition) error {
		if p.hasBatches && (p.changed || p.next > durable.of(p.logPartition)) {
			if err := p.sync(durable.of(p.logPartition)); err != nil {
				return fmt.Errorf("sync log %s-%d: %w", p.Topic, p.Partition, err)
			}
		}
		return p.writeSnapshot()
	})
	if err != nil || len(parts) == 0 {
		return err
	}
	if err := syncDir(filepath.Join(kafka, "partitions")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return syncDir(kafka)
}

// each calls fn for every item, a few at a time, until one fails.
func each[T any](ctx context.Context, items []T, fn func(int, T) error) error {
	next := make(chan int)
	errs := make(chan error, len(items))
	var wg sync.WaitGroup
	for range min(2*runtime.GOMAXPROCS(0), len(items)) {
		wg.Go(func() {
			for i := range next {
				if err := fn(i, items[i]); err != nil {
					errs <- err
				}
			}
		})
	}
	var err error
	for i := range items {
		if err = ctx.Err(); err != nil || len(errs) > 0 {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	close(errs)
	for e := range errs {
		err = errors.Join(err, e)
	}
	return err
}

// durableEnds is durable.json: for each partition an offset below which
// everything was on the disk when the file was written. What is damaged below
// it was not damaged by a crash.
type durableEnds struct {
	Version int              `json:"version"`
	Ends    map[string]int64 `json:"ends"` // by topic id and partition
}

func durableKey(id topicID, partition int32) string {
	return fmt.Sprintf("%s-%d", id, partition)
}

func (d durableEnds) of(lp logPartition) int64 { return d.Ends[durableKey(lp.id, lp.Partition)] }

func readDurable(dir string) (durableEnds, error) {
	var d durableEnds
	path := filepath.Join(dir, durableName)
	found, err := readJSON(path, &d)
	if err != nil || !found {
		return d, err
	}
	return d, checkVersion(path, d.Version)
}

func writeDurable(dir string, parts []*partition) error {
	ends := map[string]int64{}
	for _, p := range parts {
		if p.hasBatches {
			ends[durableKey(p.id, p.Partition)] = p.next
		}
	}
	return storeDurable(dir, ends)
}

func storeDurable(dir string, ends map[string]int64) error {
	body, err := json.Marshal(durableEnds{Version: formatVersion, Ends: ends})
	if err != nil {
		return fmt.Errorf("encode %s: %w", durableName, err)
	}
	if err := writeFile(filepath.Join(dir, durableName), body, true); err != nil {
		return err
	}
	return syncDir(dir)
}
