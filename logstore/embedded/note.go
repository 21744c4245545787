package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// TopicPartition names a partition of the log.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// A Note says, on the disk and before EndTxn is sent, that a transaction is
// to be committed: from the moment [Server.Note] has returned it is committed
// whatever happens, unless it is aborted on purpose.
type Note struct {
	ProducerID    int64
	ProducerEpoch int16
	Parts         []NotedPart // every partition with rows of the transaction
}

// NotedPart is the end of a noted transaction's rows in one partition.
type NotedPart struct {
	Topic     string
	TopicID   string // canonical text: a topic made anew under the name is another
	Partition int32
	Last      int64 // offset of the transaction's last row there
}

func (n Note) producer() producer { return producer{n.ProducerID, n.ProducerEpoch} }

// merged is the note with one part for each partition, the latest. A
// transaction shared by several statements names a partition for each.
func (n Note) merged() Note {
	latest := map[NotedPart]int64{}
	for _, p := range n.Parts {
		last := p.Last
		p.Last = 0
		latest[p] = max(latest[p], last)
	}
	parts := make([]NotedPart, 0, len(latest))
	for _, p := range n.Parts {
		key := p
		key.Last = 0
		if last, ok := latest[key]; ok {
			parts = append(parts, NotedPart{p.Topic, p.TopicID, p.Partition, last})
			delete(latest, key)
		}
	}
	n.Parts = parts
	return n
}

// validate finds what only a bug of the caller can cause, before it is durable.
func (n Note) validate() error {
	if len(n.Parts) == 0 {
		return errors.New("a commit note without partitions")
	}
	for _, p := range n.Parts {
		if _, err := parseTopicID(p.TopicID); err != nil {
			return fmt.Errorf("commit note for %s-%d: %w", p.Topic, p.Partition, err)
		}
		if p.Last < 0 {
			return fmt.Errorf("commit note for %s-%d: last offset %d", p.Topic, p.Partition, p.Last)
		}
	}
	return nil
}

// slotBytes is the size past which notes go to the other slot, once no note
// in it is needed any more.
const slotBytes = 1 << 20

// noteBook is where notes are kept: two files ("slots"), appended to in turn.
// A slot is emptied only when none of its notes is needed: each was retired,
// which is allowed once the markers of its transaction are on the disk.
//
// One goroutine at a time may use it.
type noteBook struct {
	slots  [2]*os.File
	size   [2]int64
	needed [2]int // notes not retired
	cur    int
	open   map[producer]noted // the not retired note of a producer
}

// noted is a note that is still needed.
type noted struct {
	slot int
	note Note
}

func noteFiles(dir string) [2]string {
	return [2]string{filepath.Join(dir, "notes.0"), filepath.Join(dir, "notes.1")}
}

// openNoteBook opens the slots and empties them: the seal has honoured what
// was in them.
func openNoteBook(dir string) (*noteBook, error) {
	b := &noteBook{open: map[producer]noted{}}
	for i, path := range noteFiles(dir) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o644)
		if err == nil {
			b.slots[i] = f
			err = f.Sync()
		}
		if err != nil {
			return nil, errors.Join(err, b.close())
		}
	}
	return b, syncDir(dir)
}

func (b *noteBook) close() error {
	var errs []error
	for _, f := range b.slots {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// write appends notes and returns the file to sync. The notes are needed
// until they are retired.
func (b *noteBook) write(notes []Note) (*os.File, error) {
	if other := 1 - b.cur; b.size[b.cur] > slotBytes && b.needed[other] == 0 {
		if err := b.slots[other].Truncate(0); err != nil {
			return nil, fmt.Errorf("empty %s: %w", b.slots[other].Name(), err)
		}
		b.cur, b.size[other] = other, 0
	}
	var buf []byte
	for _, n := range notes {
		data, err := json.Marshal(n)
		if err != nil {
			return nil, err
		}
		buf = appendEntry(buf, data)
		if old, ok := b.open[n.producer()]; ok {
			b.retire(old.note)
		}
		b.open[n.producer()] = noted{b.cur, n}
		b.needed[b.cur]++
	}
	f := b.slots[b.cur]
	if _, err := f.WriteAt(buf, b.size[b.cur]); err != nil {
		return nil, fmt.Errorf("write %s: %w", f.Name(), err)
	}
	b.size[b.cur] += int64(len(buf))
	return f, nil
}

// retire says that the markers of the noted transaction are on the disk. It
// may come late, after the producer's next note.
func (b *noteBook) retire(n Note) {
	if open, ok := b.open[n.producer()]; ok && slices.Equal(open.note.Parts, n.Parts) {
		b.needed[open.slot]--
		delete(b.open, n.producer())
	}
}

func (n Note) partitions() []TopicPartition {
	tps := make([]TopicPartition, len(n.Parts))
	for i, p := range n.Parts {
		tps[i] = TopicPartition{p.Topic, p.Partition}
	}
	return tps
}

// maxNoteBytes bounds the reading of a slot.
const maxNoteBytes = 64 << 20

// readNotes reads the notes of both slots. A torn one at the end of a slot is
// none: EndTxn was not sent.
func readNotes(dir string) ([]Note, error) {
	var notes []Note
	for _, path := range noteFiles(dir) {
		st, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if st.Size() > maxNoteBytes {
			return nil, fmt.Errorf("%s has %d bytes: it is not ours", path, st.Size())
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		found, err := parseNotes(b, path)
		if err != nil {
			return nil, err
		}
		notes = append(notes, found...)
	}
	return notes, nil
}

func parseNotes(b []byte, path string) ([]Note, error) {
	var notes []Note
	_, err := readEntries(b, func(version int, data []byte) error {
		if err := checkVersion(path, version); err != nil {
			return err
		}
		var n Note
		if err := json.Unmarshal(data, &n); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		if err := n.validate(); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		notes = append(notes, n)
		return nil
	})
	return notes, err
}
