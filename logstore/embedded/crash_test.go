package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dtstore/logstore/embedded"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The crash trial: a child process (this test binary again) runs a server and
// writes to it, the parent kills it at random moments, one in five while it
// opens, and the next child shows what is there.
var (
	crashKills = flag.Int("crash.kills", 10, "SIGKILLs of the crash trial")
	crashSeed  = flag.Uint64("crash.seed", 0, "seed of the crash trial, 0 for a random one")
)

// A directory is used for so many kills, then a new one.
const killsPerDir = 25

// A child's numbers are its own: more than it can write before it is killed.
const numbersPerChild = 4000

const childEnv = "EMBEDDED_CRASH_CHILD" // dir and first number, with a space

func TestMain(m *testing.M) {
	if args := os.Getenv(childEnv); args != "" {
		if err := crashChild(context.Background(), strings.Fields(args)); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// Even numbers are transactions with rowsPerPart rows in every partition of
// both topics, odd ones plain rows in one partition. The row's key is the number.
const (
	crashParts  = 8
	rowsPerPart = 3
)

var crashTopics = []string{"t", "u.v"}

// crashChild opens the server, says what is in it, then writes until killed.
func crashChild(ctx context.Context, args []string) error {
	first, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	say("sealing")
	s, err := embedded.Open(ctx, embedded.Options{Dir: args[0], Listen: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	say("open")
	adm, err := connect(s.Addr())
	if err != nil {
		return err
	}
	ids := map[string]string{}
	for _, name := range crashTopics {
		if ids[name], err = createTopic(ctx, adm, name, crashParts, "20000"); err != nil {
			return err
		}
		for p := range int32(crashParts) {
			got, err := keys(ctx, s.Addr(), name, p)
			if err != nil {
				return fmt.Errorf("read %s-%d: %w", name, p, err)
			}
			say("holds", name, fmt.Sprint(p), strings.Join(got, " "))
		}
	}
	say("ready")
	errs := make(chan error, 2)
	go func() { errs <- childTransactions(ctx, s, ids, first) }()
	go func() { errs <- childRows(ctx, s, first+1) }()
	return <-errs
}

var sayMu sync.Mutex

// say prints one line at once: a pipe takes it whole or, killed, not at all.
func say(words ...string) {
	sayMu.Lock()
	defer sayMu.Unlock()
	io.WriteString(os.Stdout, strings.Join(words, " ")+"\n")
}

// childTransactions commits transactions, two transactional ids taking turns,
// and aborts some, before and after their note.
func childTransactions(ctx context.Context, s *embedded.Server, ids map[string]string, n int) error {
	var txs [2]*kgo.Client
	for i := range txs {
		var err error
		txs[i], err = connect(s.Addr(), kgo.TransactionalID(fmt.Sprint("srv", i)))
		if err != nil {
			return err
		}
	}
	for ; ; n += 2 {
		tx := txs[n/2%2]
		note, err := produceTransaction(ctx, tx, ids, strconv.Itoa(n))
		if err != nil {
			return err
		}
		how, noted := kgo.TryCommit, true
		switch rand.IntN(6) {
		case 0:
			how, noted = kgo.TryAbort, false
		case 1:
			how = kgo.TryAbort
		}
		if noted {
			if err := s.Note(ctx, note); err != nil {
				return err
			}
		}
		say("ending", strconv.Itoa(n))
		if err := tx.EndTransaction(ctx, how); err != nil {
			return err
		}
		if err := s.Broken(); err != nil {
			return err
		}
		if how == kgo.TryCommit {
			say("yes", strconv.Itoa(n))
		}
		if noted {
			if err := s.Ended(ctx, note); err != nil {
				return err
			}
		}
		if how == kgo.TryAbort {
			say("no", strconv.Itoa(n))
		}
	}
}

func produceTransaction(ctx context.Context, tx *kgo.Client, ids map[string]string, key string) (embedded.Note, error) {
	var note embedded.Note
	if err := tx.BeginTransaction(); err != nil {
		return note, err
	}
	var rows []*kgo.Record
	for _, name := range crashTopics {
		for p := range int32(crashParts) {
			for range rowsPerPart {
				rows = append(rows, &kgo.Record{Topic: name, Partition: p, Key: []byte(key), Value: make([]byte, 100)})
			}
		}
	}
	if err := tx.ProduceSync(ctx, rows...).FirstErr(); err != nil {
		return note, err
	}
	last := map[embedded.TopicPartition]int64{}
	for _, r := range rows {
		tp := embedded.TopicPartition{Topic: r.Topic, Partition: r.Partition}
		last[tp] = max(last[tp], r.Offset)
	}
	for tp, offset := range last {
		note.Parts = append(note.Parts, embedded.NotedPart{Topic: tp.Topic, TopicID: ids[tp.Topic], Partition: tp.Partition, Last: offset})
	}
	var err error
	note.ProducerID, note.ProducerEpoch, err = tx.ProducerID(ctx)
	return note, err
}

// childRows appends single rows.
func childRows(ctx context.Context, s *embedded.Server, n int) error {
	cl, err := connect(s.Addr())
	if err != nil {
		return err
	}
	for ; ; n += 2 {
		tp := embedded.TopicPartition{Topic: crashTopics[rand.IntN(len(crashTopics))], Partition: rand.Int32N(crashParts)}
		r := &kgo.Record{Topic: tp.Topic, Partition: tp.Partition, Key: []byte(strconv.Itoa(n)), Value: make([]byte, 100)}
		if err := cl.ProduceSync(ctx, r).FirstErr(); err != nil {
			return err
		}
		if err := errors.Join(s.Broken(), s.Sync(ctx, []embedded.TopicPartition{tp})); err != nil {
			return err
		}
		say("yes", strconv.Itoa(n))
	}
}

// model is what the parent knows of one directory.
type model struct {
	yes, no map[int]bool // answered, or seen to be there or not there since
	next    int          // first number never used
}

func TestCrash(t *testing.T) {
	seed := *crashSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	var dir string
	var m *model
	states := map[string]int{}
	for kill := range *crashKills + 1 {
		if kill%killsPerDir == 0 {
			dir = filepath.Join(t.TempDir(), "data")
			m = &model{yes: map[int]bool{}, no: map[int]bool{}}
		}
		c := crashRun{t: t, m: m, rng: rng}
		c.run(dir)
		states[c.state]++
		m.next += numbersPerChild
		if t.Failed() {
			t.Fatalf("after kill %d, in state %s", kill, c.state)
		}
	}
	t.Logf("the last words before the kills: %v", states)
}

// crashRun is the life of one child.
type crashRun struct {
	t     *testing.T
	m     *model
	rng   *rand.Rand
	cmd   *exec.Cmd
	state string
	count map[int]map[string]int // number → partition → rows
}

func (c *crashRun) run(dir string) {
	c.cmd = exec.Command(os.Args[0])
	c.cmd.Env = append(os.Environ(), childEnv+"="+dir+" "+strconv.Itoa(c.m.next))
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	at, wait := c.moment()
	c.count = map[int]map[string]int{}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // what came of a last line was cut off
			break
		}
		words := strings.Fields(line)
		if strings.HasPrefix(line, at) {
			at = "never again"
			time.AfterFunc(wait, func() { c.cmd.Process.Kill() })
		}
		c.hear(words)
	}
	c.cmd.Wait()
}

// moment chooses when to kill: so long after a line that begins so.
func (c *crashRun) moment() (line string, wait time.Duration) {
	micros := func(from, to int) time.Duration {
		return time.Duration(from+c.rng.IntN(to-from)) * time.Microsecond
	}
	switch c.rng.IntN(5) {
	case 0:
		return "sealing", micros(0, 8000)
	case 1, 2: // inside an EndTxn, of the first transactions or of later ones
		return fmt.Sprintf("ending %d", c.m.next+2*c.rng.IntN(20)), micros(0, 600)
	}
	return "ready", micros(5000, 65000)
}

// hear takes one line of the child.
func (c *crashRun) hear(words []string) {
	n := 0
	if len(words) == 2 {
		n, _ = strconv.Atoi(words[1])
	}
	switch words[0] {
	case "sealing", "open", "ending":
		c.state = words[0]
	case "holds":
		c.holds(words[1]+"-"+words[2], words[3:])
	case "ready":
		c.state = words[0]
		c.verify()
	case "yes":
		c.state = "ready"
		c.m.yes[n] = true
	case "no":
		c.m.no[n] = true
	default:
		c.t.Errorf("child: %s", strings.Join(words, " "))
	}
}

// holds takes the rows of one partition: in order, by kind.
func (c *crashRun) holds(part string, keys []string) {
	last := [2]int{-1, -1}
	for _, k := range keys {
		n, err := strconv.Atoi(k)
		if err != nil {
			c.t.Fatal(err)
		}
		if n < last[n%2] {
			c.t.Errorf("%s: %d after %d", part, n, last[n%2])
		}
		last[n%2] = n
		if c.count[n] == nil {
			c.count[n] = map[string]int{}
		}
		c.count[n][part]++
	}
}

// verify compares what is there with what was answered, and takes it as the
// answer to what was not: it may not change any more.
func (c *crashRun) verify() {
	for n, parts := range c.count {
		want := map[bool]int{true: rowsPerPart, false: 1}[n%2 == 0]
		for part, rows := range parts {
			if rows != want {
				c.t.Errorf("%d has %d rows in %s, want %d", n, rows, part, want)
			}
		}
		if n%2 == 0 && len(parts) != crashParts*len(crashTopics) || n%2 == 1 && len(parts) != 1 {
			c.t.Errorf("torn: %d is in %v", n, parts)
		}
		if c.m.no[n] {
			c.t.Errorf("%d is there, and was answered or seen not to be", n)
		}
		c.m.yes[n] = true
	}
	for n := range c.m.yes {
		if c.count[n] == nil {
			c.t.Errorf("lost: %d", n)
		}
	}
	// Long ago was settled then.
	for n := max(0, c.m.next-3*numbersPerChild); n < c.m.next; n++ {
		if !c.m.yes[n] {
			c.m.no[n] = true
		}
	}
}
