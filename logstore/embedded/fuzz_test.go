package embedded

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// seedFiles adds kfake's own files, whole and cut, to a corpus.
func seedFiles(f *testing.F, pattern string) {
	for _, path := range must(filepath.Glob(filepath.Join("testdata", "v1", pattern))) {
		b := must(os.ReadFile(path))
		f.Add(b)
		f.Add(b[:len(b)*2/3])
	}
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 200))
}

// Whatever the bytes, reading a segment does not panic, stops in the file, and
// reads its good part the same again.
func FuzzReadBatches(f *testing.F) {
	seedFiles(f, "*.dat")
	f.Add(marker(5, 0, producer{7, 1}, true, time.UnixMilli(1)))
	f.Fuzz(func(t *testing.T, file []byte) {
		checkReading(t, file)
		checkReading(t, withChecksums(file))
	})
}

// withChecksums makes the checksums right, so that what they guard is reached.
func withChecksums(file []byte) []byte {
	file = bytes.Clone(file)
	for rest := file; len(rest) >= batchHeaderBytes; {
		n := batchPrefixBytes + int(binary.BigEndian.Uint32(rest[8:]))
		if n < batchHeaderBytes || n > len(rest) {
			break
		}
		binary.BigEndian.PutUint32(rest[17:], crc32.Checksum(rest[batchCRCFrom:n], castagnoli))
		rest = rest[n:]
	}
	return file
}

func checkReading(t *testing.T, file []byte) {
	var first []batch
	good, damage, err := readBatches(bytes.NewReader(file), int64(len(file)), 0, func(b *batch) error {
		first = append(first, *b)
		return nil
	})
	if err != nil || good < 0 || good > int64(len(file)) || (damage == "") != (good == int64(len(file))) {
		t.Fatalf("good %d of %d, damage %q, %v", good, len(file), damage, err)
	}
	next, n := int64(0), 0
	again, damage, err := readBatches(bytes.NewReader(file[:good]), good, 0, func(b *batch) error {
		if *b != first[n] || b.first < next || b.last < b.first-1 {
			t.Fatalf("batch %d: %+v, first read as %+v, after offset %d", n, *b, first[n], next)
		}
		next, n = b.last+1, n+1
		return nil
	})
	if err != nil || damage != "" || again != good || n != len(first) {
		t.Fatalf("the good part again: %d of %d, %d of %d batches, %q, %v", again, good, n, len(first), damage, err)
	}
	// A file that ends before its size says so.
	_, _, err = readBatches(bytes.NewReader(file), int64(len(file))+1000, 0, func(*batch) error { return nil })
	if err == nil && good == int64(len(file)) {
		t.Fatal("a file shorter than its size was read to its end")
	}
}

// Whatever lies in a partition's folder, a scan makes of it something that a
// second scan finds nothing to mend in.
func FuzzScanPartition(f *testing.F) {
	f.Add([]byte{}, []byte{}, []byte{})
	for _, path := range must(filepath.Glob(filepath.Join("testdata", "v1", "*.dat"))) {
		f.Add(must(os.ReadFile(path)), []byte("{}"), []byte{1, 2, 3})
	}
	f.Fuzz(func(t *testing.T, dat, snapshot, idx []byte) {
		root := t.TempDir()
		lp := logPartition{TopicPartition: TopicPartition{Topic: "t"}}
		dir := filepath.Join(root, "partitions", "t-0")
		for _, err := range []error{
			os.MkdirAll(dir, 0o755),
			os.WriteFile(filepath.Join(dir, "0.dat"), withChecksums(dat), 0o644),
			os.WriteFile(filepath.Join(dir, "0.idx"), idx, 0o644),
			os.WriteFile(filepath.Join(dir, "snapshot.json"), snapshot, 0o644),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		p, err := scanPartition(root, lp, 0, map[int64]bool{1: true})
		if err != nil {
			return // another version's files
		}
		for id := range p.open {
			if err := p.end(id, false, time.UnixMilli(1)); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.writeSnapshot(); err != nil {
			t.Fatal(err)
		}
		again, err := scanPartition(root, lp, p.next, nil)
		if err != nil {
			t.Fatal(err)
		}
		if again.changed || len(again.open) > 0 || again.next != p.next || again.start != p.start {
			t.Fatalf("scanned again: changed %v, open %v, [%d, %d), first [%d, %d)", again.changed, again.open, again.start, again.next, p.start, p.next)
		}
	})
}

// Entry logs and notes: whole entries come back, torn ones end them.
func FuzzEntries(f *testing.F) {
	seedFiles(f, "*.log")
	note := []byte(`{"ProducerID":1,"ProducerEpoch":0,"Parts":[{"Topic":"t","TopicID":"00000000-0000-0000-0000-000000000001","Partition":0,"Last":5}]}`)
	f.Add(appendEntry(nil, note))
	f.Fuzz(func(t *testing.T, file []byte) {
		var copied []byte
		good, err := readEntries(file, func(version int, data []byte) error {
			if version == formatVersion {
				copied = appendEntry(copied, data)
			} else {
				copied = nil // as appendEntry would write another version
			}
			return nil
		})
		if err != nil || good > len(file) {
			t.Fatalf("good %d of %d, %v", good, len(file), err)
		}
		if len(copied) == good && !bytes.Equal(copied, file[:good]) {
			t.Fatalf("entries written again differ: %x, %x", copied, file[:good])
		}
		notes, _ := parseNotes(file, "notes")
		for _, n := range notes {
			if n.validate() != nil {
				t.Fatalf("invalid note %+v", n)
			}
		}
	})
}

// Every cut of a log and every flipped bit of it is found; what is before it stays.
func TestEveryCutAndFlip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, path := range must(filepath.Glob(filepath.Join("testdata", "v1", "*.dat"))) {
		file := must(os.ReadFile(path))
		var ends []int64
		read := func(b []byte) (int64, string) {
			good, damage, err := readBatches(bytes.NewReader(b), int64(len(b)), 0, func(b *batch) error {
				ends = append(ends, b.at+b.bytes)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return good, damage
		}
		read(file)
		whole := append([]int64{0}, ends...)
		goodBefore := func(at int64) int64 {
			var end int64
			for _, e := range whole {
				if e <= at {
					end = e
				}
			}
			return end
		}
		for cut := range int64(len(file)) {
			if good, _ := read(file[:cut]); good != goodBefore(cut) {
				t.Fatalf("%s cut at %d: good %d, want %d", path, cut, good, goodBefore(cut))
			}
		}
		for at := range int64(len(file)) {
			start := goodBefore(at)
			// The offset's and the leader epoch's bytes are not in the checksum.
			if in := at - start; in < 8 || in >= 12 && in < 16 {
				continue
			}
			flipped := bytes.Clone(file)
			flipped[at] ^= 1 << rng.IntN(8)
			if good, damage := read(flipped); good != start || damage == "" {
				t.Fatalf("%s flipped at %d: good %d, want %d", path, at, good, start)
			}
		}
	}
}
