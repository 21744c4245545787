package wire_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dtstore/table"
	"dtstore/wire"
)

// shop is what the sessions of one server share: a set of committed numbers.
type shop struct {
	mu        sync.Mutex
	committed []int
	closed    int
	started   chan struct{} // told when a call begins to wait
}

// fake is a scripted session. A statement is a word and its arguments:
//
//	rows N | insert N | list | begin | commit | rollback | error CODE TEXT |
//	wait | stream | sleepless | copyin FORMAT | copyout FORMAT N | notice TEXT | set NAME VALUE |
//	zone NAME | types | panic | internal | select $1 (prepared only)
type fake struct {
	shop       *shop
	info       wire.StartupInfo
	w          *wire.Writer
	block      bool // in a transaction block
	failed     bool
	pending    []int
	statements map[string]prepared
	portals    map[string]*portal
}

type prepared struct {
	text string
	oids []uint32
}

type portal struct {
	text    string
	params  [][]byte
	formats []int16
	oids    []uint32
	in      []int16
	given   int // rows given so far
}

func (f *fake) Query(ctx context.Context, text string, w *wire.Writer) error {
	empty := true
	for stmt := range strings.SplitSeq(text, ";") {
		stmt = strings.TrimSpace(stmt)
		if stmt == "" || strings.HasPrefix(stmt, "--") {
			continue
		}
		empty = false
		if err := f.run(ctx, &portal{text: stmt}, 0, w); err != nil {
			return err
		}
	}
	if empty {
		w.Empty()
	}
	return f.end()
}

// end ends the implicit transaction.
func (f *fake) end() error {
	if !f.block {
		f.commit()
	}
	return nil
}

func (f *fake) commit() {
	f.shop.mu.Lock()
	defer f.shop.mu.Unlock()
	f.shop.committed = append(f.shop.committed, f.pending...)
	f.pending = nil
}

var fakeColumns = []wire.Column{
	{Name: "id", OID: wire.OIDInt8, Typmod: -1}, {Name: "name", OID: wire.OIDText, Typmod: -1, TableOID: 16400, Attribute: 2},
}

func (f *fake) columns(stmt string) []wire.Column {
	word, _, _ := strings.Cut(stmt, " ")
	switch word {
	case "rows":
		return fakeColumns
	case "list", "wait", "stream":
		return fakeColumns[:1]
	case "select":
		return []wire.Column{{Name: "?column?", OID: wire.OIDText, Typmod: -1}}
	case "types":
		return typeColumns()
	}
	return nil
}

func (f *fake) run(ctx context.Context, p *portal, limit int, w *wire.Writer) error {
	word, rest, _ := strings.Cut(p.text, " ")
	if f.failed && word != "rollback" && word != "commit" {
		return table.Errorf("25P02", "current transaction is aborted, commands ignored until end of transaction block")
	}
	cols, err := wire.WithFormats(f.columns(p.text), p.formats)
	if err != nil {
		return err
	}
	if len(cols) > 0 {
		if err := w.Columns(cols); err != nil {
			return err
		}
	}
	switch word {
	case "rows":
		n, _ := strconv.Atoi(rest)
		first := p.given
		for ; p.given < n; p.given++ {
			if limit > 0 && p.given-first == limit {
				w.Suspended()
				return nil
			}
			if err := w.Row([]table.Value{table.IntOf(int64(p.given)), table.StringOf("row " + strconv.Itoa(p.given))}); err != nil {
				return err
			}
		}
		return w.Complete(fmt.Sprintf("SELECT %d", n-first))
	case "list":
		f.shop.mu.Lock()
		all := slices.Concat(f.shop.committed, f.pending)
		f.shop.mu.Unlock()
		for _, n := range all {
			if err := w.Row([]table.Value{table.IntOf(int64(n))}); err != nil {
				return err
			}
		}
		return w.Complete(fmt.Sprintf("SELECT %d", len(all)))
	case "select":
		v, err := wire.DecodeParam(wire.OIDText, 0, p.params[0], time.UTC)
		if err != nil {
			return err
		}
		if err := w.Row([]table.Value{v}); err != nil {
			return err
		}
		return w.Complete("SELECT 1")
	case "types":
		if err := w.Row(typeRow()); err != nil {
			return err
		}
		return w.Complete("SELECT 1")
	case "insert":
		n, _ := strconv.Atoi(rest)
		f.pending = append(f.pending, n)
		return w.Complete("INSERT 0 1")
	case "":
		w.Empty()
		return nil
	}
	return f.other(ctx, word, rest, w)
}

func (f *fake) other(ctx context.Context, word, rest string, w *wire.Writer) error {
	switch word {
	case "begin":
		f.block = true
		return w.Complete("BEGIN")
	case "commit", "rollback":
		tag := strings.ToUpper(word)
		if f.failed || word == "rollback" {
			f.pending, tag = nil, "ROLLBACK"
		}
		f.block, f.failed = false, false
		f.commit()
		return w.Complete(tag)
	case "error":
		code, text, _ := strings.Cut(rest, " ")
		return table.Errorf(code, "%s", text).WithHint("a hint").WithDetail("a detail").At(7)
	case "internal":
		return fmt.Errorf("open /secret/path: %w", io.ErrUnexpectedEOF)
	case "panic":
		panic("scripted")
	case "notice":
		if err := w.Notice(wire.Notice{Message: rest}); err != nil {
			return err
		}
		return w.Complete("NOTICE")
	case "set":
		name, value, _ := strings.Cut(rest, " ")
		w.ParameterStatus(name, value)
		return w.Complete("SET")
	case "zone":
		loc, err := time.LoadLocation(rest)
		if err != nil {
			return err
		}
		w.SetLocation(loc)
		return w.Complete("SET")
	case "wait", "stream":
		return f.wait(ctx, word == "stream", w)
	case "copyin":
		return f.copyIn(rest, w)
	case "copyout":
		return f.copyOut(rest, w)
	}
	return table.Errorf("42601", "syntax error at or near %q", word)
}

// wait blocks until the call is interrupted; as a stream it shows one row.
func (f *fake) wait(ctx context.Context, stream bool, w *wire.Writer) error {
	if stream {
		if err := w.Row([]table.Value{table.IntOf(1)}); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	select {
	case f.shop.started <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return ctx.Err()
}

var copyFormats = map[string]wire.CopyFormat{"text": wire.CopyText, "csv": wire.CopyCSV, "binary": wire.CopyBinary}

func (f *fake) copyIn(rest string, w *wire.Writer) error {
	format := copyFormats[rest]
	r, err := w.CopyIn(format == wire.CopyBinary, 2)
	if err != nil {
		return err
	}
	cols := []wire.CopyColumn{
		{Name: "id", Type: table.Type{Kind: table.BigInt}},
		{Name: "name", Type: table.Type{Kind: table.VarChar, Length: table.MaxLength}},
	}
	in := wire.NewCopyReader(r, wire.CopyOptions{Format: format, Table: "t"}, cols, nil)
	row := make([]table.Value, 2)
	n := 0
	for {
		err := in.Next(row)
		if err == io.EOF {
			return w.Complete(fmt.Sprintf("COPY %d", n))
		}
		if err != nil {
			return err
		}
		f.pending = append(f.pending, int(row[0].Int()))
		n++
	}
}

func (f *fake) copyOut(rest string, w *wire.Writer) error {
	format, count, _ := strings.Cut(rest, " ")
	n, _ := strconv.Atoi(count)
	out, err := w.CopyOut(wire.CopyOptions{Format: copyFormats[format]}, fakeColumns)
	if err != nil {
		return err
	}
	for i := range n {
		if err := out.Row([]table.Value{table.IntOf(int64(i)), table.StringOf("a,b\tc")}); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return w.Complete(fmt.Sprintf("COPY %d", n))
}

func (f *fake) Parse(ctx context.Context, name, text string, oids []uint32) error {
	if strings.HasPrefix(text, "bad") {
		return table.Errorf("42601", "syntax error at or near \"bad\"").At(1)
	}
	f.statements[name] = prepared{text: strings.TrimSpace(strings.Trim(text, ";")), oids: oids}
	return nil
}

func (f *fake) Bind(ctx context.Context, b wire.Bind) error {
	stmt, ok := f.statements[b.Statement]
	if !ok {
		return table.Errorf("26000", "prepared statement %q does not exist", b.Statement)
	}
	for i, p := range b.Params {
		if _, err := wire.DecodeParam(wire.OIDText, 0, p, time.UTC); err != nil {
			return err
		}
		b.Params[i] = slices.Clone(p)
	}
	f.portals[b.Portal] = &portal{text: stmt.text, params: b.Params, formats: b.ResultFormats}
	return nil
}

func (f *fake) DescribeStatement(ctx context.Context, name string) ([]uint32, []wire.Column, error) {
	stmt, ok := f.statements[name]
	if !ok {
		return nil, nil, table.Errorf("26000", "prepared statement %q does not exist", name)
	}
	params := stmt.oids
	if strings.Contains(stmt.text, "$1") {
		params = []uint32{wire.OIDText}
	}
	return params, f.columns(stmt.text), nil
}

func (f *fake) DescribePortal(ctx context.Context, name string) ([]wire.Column, error) {
	p, ok := f.portals[name]
	if !ok {
		return nil, table.Errorf("34000", "portal %q does not exist", name)
	}
	if cols := f.columns(p.text); cols != nil {
		return wire.WithFormats(cols, p.formats)
	}
	return nil, nil
}

func (f *fake) Execute(ctx context.Context, name string, maxRows int, w *wire.Writer) error {
	p, ok := f.portals[name]
	if !ok {
		return table.Errorf("34000", "portal %q does not exist", name)
	}
	return f.run(ctx, p, maxRows, w)
}

func (f *fake) CloseStatement(ctx context.Context, name string) error {
	delete(f.statements, name)
	return nil
}

func (f *fake) ClosePortal(ctx context.Context, name string) error {
	delete(f.portals, name)
	return nil
}

func (f *fake) Sync(ctx context.Context, w *wire.Writer) error { return f.end() }

func (f *fake) Fail(err error) {
	f.pending = nil
	f.failed = f.block
}

func (f *fake) Status() wire.TxStatus {
	switch {
	case f.failed:
		return wire.TxFailed
	case f.block:
		return wire.TxActive
	}
	return wire.TxIdle
}

func (f *fake) Close() {
	f.shop.mu.Lock()
	defer f.shop.mu.Unlock()
	f.shop.closed++
}

// start runs a server of fakes until the test ends.
func start(t testing.TB, o wire.Options) (addr string, s *shop, srv *wire.Server) {
	t.Helper()
	s = &shop{started: make(chan struct{}, 16)}
	if o.NewSession == nil {
		o.NewSession = func(ctx context.Context, info wire.StartupInfo, w *wire.Writer) (wire.Session, error) {
			if info.User == "nobody" {
				return nil, table.Errorf("3D000", "database %q does not exist", info.Database).WithHint("Use dtstore.")
			}
			w.ParameterStatus("server_version", "15.0")
			w.ParameterStatus("client_encoding", "UTF8")
			w.ParameterStatus("standard_conforming_strings", "on")
			return &fake{shop: s, info: info, w: w, statements: map[string]prepared{}, portals: map[string]*portal{}}, nil
		}
	}
	o.Logger = slog.New(slog.DiscardHandler)
	srv, err := wire.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return l.Addr().String(), s, srv
}
