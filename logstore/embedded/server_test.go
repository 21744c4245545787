package embedded_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dtstore/logstore/embedded"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestOpenIsQuick(t *testing.T) {
	begin := time.Now()
	open(t, t.TempDir())
	if d := time.Since(begin); d > 500*time.Millisecond {
		t.Errorf("opening an empty directory took %v", d)
	}
}

func TestSecondOpenerIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	_, err := embedded.Open(t.Context(), embedded.Options{Dir: dir, Listen: "127.0.0.1:0"})
	if !errors.Is(err, embedded.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second opener: %v", err)
	}
	_, err = embedded.Open(t.Context(), embedded.Options{Dir: t.TempDir(), Listen: s.Addr()})
	if err == nil || !strings.Contains(err.Error(), s.Addr()+" is in use") {
		t.Errorf("taken port: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
}

func TestOnlyLoopback(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:9092", "nonsense"} {
		if _, err := embedded.Open(t.Context(), embedded.Options{Dir: t.TempDir(), Listen: addr}); err == nil {
			t.Errorf("%s was accepted", addr)
		}
	}
}

func TestRowsSurviveCloseAndKill(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	cl := client(t, s.Addr())
	topic(t, cl, "a.b", 2, "2000")
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint(i))
		put(t, cl, "a.b", 1, fmt.Sprint(i), 300)
		if err := s.Sync(t.Context(), []embedded.TopicPartition{{Topic: "a.b", Partition: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	killed := open(t, crashCopy(t, dir))
	wantKeys(t, killed.Addr(), "a.b", 1, want...)
	cl.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	wantKeys(t, s.Addr(), "a.b", 1, want...)
	if off := put(t, client(t, s.Addr()), "a.b", 1, "next", 1); off != 20 {
		t.Errorf("the next row got offset %d", off)
	}
}

func TestSyncOfWhatIsGone(t *testing.T) {
	s := open(t, t.TempDir())
	cl := client(t, s.Addr())
	tp := []embedded.TopicPartition{{Topic: "t", Partition: 0}}
	if err := s.Sync(t.Context(), tp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such topic: %v", err)
	}
	for round := range 3 {
		topic(t, cl, "t", 1, "1000")
		for range 5 + round {
			put(t, cl, "t", 0, "k", 500)
			if err := s.Sync(t.Context(), tp); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := kadm.NewClient(cl).DeleteTopic(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		if round == 1 {
			if err := s.Sync(t.Context(), tp); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("dropped topic: %v", err)
			}
		}
	}
	if err := s.Broken(); err != nil {
		t.Error(err)
	}
}

// A trim to the end would make the next opening begin at offset 0.
func TestTrimKeepsTheLastRow(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	cl := client(t, s.Addr())
	topic(t, cl, "t", 1, "1000")
	for range 7 {
		put(t, cl, "t", 0, "k", 800)
	}
	for _, offset := range []int64{3, -1, 7} {
		var to kadm.Offsets
		to.AddOffset("t", 0, offset, -1)
		r, err := kadm.NewClient(cl).DeleteRecords(t.Context(), to)
		if err != nil || r.Error() != nil {
			t.Fatal(err, r.Error())
		}
		low, _ := r.Lookup("t", 0)
		if want := map[int64]int64{3: 3, -1: 6, 7: 6}[offset]; low.LowWatermark != want {
			t.Errorf("trim to %d: low watermark %d, want %d", offset, low.LowWatermark, want)
		}
	}
	for _, d := range []string{crashCopy(t, dir), dir} {
		if d == dir {
			s.Close()
		}
		again := open(t, d)
		if off := put(t, client(t, again.Addr()), "t", 0, "k", 1); off != 7 {
			t.Errorf("after the trim the next row got offset %d", off)
		}
	}
}

// The log start of a clean stop is kept over a kill that follows.
func TestLogStartIsKept(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	cl := client(t, s.Addr())
	topic(t, cl, "t", 1, "100000")
	for range 9 {
		put(t, cl, "t", 0, "k", 10)
	}
	var to kadm.Offsets
	to.AddOffset("t", 0, 5, -1)
	if _, err := kadm.NewClient(cl).DeleteRecords(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = open(t, dir)
	put(t, client(t, s.Addr()), "t", 0, "k", 10)
	again := open(t, crashCopy(t, dir))
	starts, err := kadm.NewClient(client(t, again.Addr())).ListStartOffsets(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if o, _ := starts.Lookup("t", 0); o.Offset != 5 {
		t.Errorf("log start %d, want 5", o.Offset)
	}
}

func TestStrangersAtThePort(t *testing.T) {
	s := open(t, t.TempDir())
	for _, hello := range []string{
		"GET / HTTP/1.1\r\n\r\n",
		"\x7f\xff\xff\xff\x00\x12\x00\x00",         // 2 GiB
		"\x00\x00\x00\x00\x00\x00",                 // shorter than any request
		"\x00\x00\x00\x20\x7f\xff\x00\x00",         // no such key
		"\x00\x00\x00\x20\xff\xff\x00\x00",         // a negative key
		"\x00\x00\x00\x0a\x00\x03\x7f\xff\x00\x00", // cut off
		"",
	} {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, hello)
		c.(*net.TCPConn).CloseWrite()
		c.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: the connection stays open", hello)
		}
		c.Close()
	}
	topic(t, client(t, s.Addr()), "t", 1, "1000")
}

func TestOtherFormatVersions(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	cl := client(t, s.Addr())
	topic(t, cl, "t", 1, "1000")
	put(t, cl, "t", 0, "k", 1)
	s.Close()
	for _, name := range []string{"kafka/meta.json", "kafka/topics.json", "kafka/partitions/t-0/snapshot.json", "durable.json"} {
		other := crashCopy(t, dir)
		path := filepath.Join(other, filepath.FromSlash(name))
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		os.WriteFile(path, []byte(strings.Replace(string(b), `"version":1`, `"version":2`, 1)), 0o644)
		_, err = embedded.Open(t.Context(), embedded.Options{Dir: other, Listen: "127.0.0.1:0"})
		if err == nil || !strings.Contains(err.Error(), "format version 2") {
			t.Errorf("%s of version 2: %v", name, err)
		}
	}
	lost := crashCopy(t, dir)
	os.Remove(filepath.Join(lost, "kafka", "meta.json"))
	if _, err := embedded.Open(t.Context(), embedded.Options{Dir: lost, Listen: "127.0.0.1:0"}); err == nil {
		t.Error("a directory without meta.json was taken for an empty one")
	}
}

// The disk fills up: kfake answers an error once and would acknowledge the
// same rows sent again.
func TestBrokenAfterAFailedWrite(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	cl := client(t, s.Addr(), kgo.RecordRetries(0), kgo.ProduceRequestTimeout(time.Second))
	topic(t, cl, "t", 1, "1000")
	put(t, cl, "t", 0, "k", 2000)
	// The next segment cannot be made: its folder is gone.
	if err := os.RemoveAll(partDir(dir, "t-0")); err != nil {
		t.Fatal(err)
	}
	cl.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Key: []byte("lost")})
	if err := s.Broken(); !errors.Is(err, embedded.ErrBroken) {
		t.Errorf("after a failed write Broken says %v", err)
	}
	if err := s.Sync(t.Context(), []embedded.TopicPartition{{Topic: "t"}}); !errors.Is(err, embedded.ErrBroken) {
		t.Errorf("Sync says %v", err)
	}
	if err := s.Close(); !errors.Is(err, embedded.ErrBroken) {
		t.Errorf("Close says %v", err)
	}
}
