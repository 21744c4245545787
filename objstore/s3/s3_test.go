package s3_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"dtstore/objstore"
	"dtstore/objstore/s3"
	"dtstore/objstore/storetest"
)

const secret = "do-not-print-this"

func credentials(t *testing.T) {
	for k, v := range map[string]string{
		"AWS_ACCESS_KEY_ID": "key-" + secret, "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": secret,
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(k, v)
	}
}

func open(t *testing.T, endpoint, prefix string) objstore.Store {
	s, err := s3.Open(t.Context(), s3.Options{Bucket: "warehouse", Prefix: prefix, Endpoint: endpoint, PathStyle: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	credentials(t)
	n := 0
	storetest.Run(t, func(t *testing.T) objstore.Store {
		backend := s3mem.New()
		if err := backend.CreateBucket("warehouse"); err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(oneWriter(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()))
		t.Cleanup(srv.Close)
		n++
		return open(t, srv.URL, []string{"", "a/b"}[n%2])
	})
}

// oneWriter serializes conditional puts: gofakes3 checks and puts in two steps.
func oneWriter(next http.Handler) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") != "" {
			mu.Lock()
			defer mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}

// script is an S3 service of one object that answers conditional puts as told.
type script struct {
	mu      sync.Mutex
	answers []string // of the next PUTs: ok, lost, 409, 500, 412, foreign…; ok when used up
	puts    int
	body    []byte
	meta    string
	there   bool
}

func (f *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch r.Method {
	case http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		answer := "ok"
		if f.puts < len(f.answers) {
			answer = f.answers[f.puts]
		}
		f.puts++
		f.put(w, answer, body, r.Header)
	case http.MethodDelete:
		f.there = false
		w.WriteHeader(http.StatusNoContent)
	default:
		if !f.there {
			fail(w, 404, "NoSuchKey")
			return
		}
		w.Header().Set("X-Amz-Meta-Dtstore-Put", f.meta)
		w.Header().Set("Content-Length", fmt.Sprint(len(f.body)))
		if r.Method == http.MethodGet {
			w.Write(f.body)
		}
	}
}

func (f *script) put(w http.ResponseWriter, answer string, body []byte, h http.Header) {
	name, rest, _ := strings.Cut(answer, "+")
	if rest == "foreign" { // another writer was faster
		f.there, f.body, f.meta = true, []byte("foreign"), "another"
	}
	if name == "ignore" {
		name = "ok"
		f.there = false
	}
	switch name {
	case "ok", "lost", "500done":
		if f.there {
			fail(w, 412, "PreconditionFailed")
			return
		}
		f.there, f.body, f.meta = true, body, h.Get("X-Amz-Meta-Dtstore-Put")
		if h.Get("If-None-Match") != "*" {
			fail(w, 400, "NoCondition")
		} else if name == "lost" {
			hangUp(w)
		} else if name == "500done" {
			fail(w, 500, "InternalError")
		}
	case "reset":
		hangUp(w)
	case "409":
		fail(w, 409, "ConditionalRequestConflict")
	case "500":
		fail(w, 500, "InternalError")
	case "501":
		fail(w, 501, "NotImplemented")
	case "403":
		fail(w, 403, "AccessDenied")
	default:
		panic(answer)
	}
}

func fail(w http.ResponseWriter, code int, name string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(code)
	xml.NewEncoder(w).Encode(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}{Code: name, Message: "scripted"})
}

func hangUp(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	conn.(*net.TCPConn).SetLinger(0) // a reset
	conn.Close()
}

// TestConditionalPut is case B39: what each sequence of answers must mean.
func TestConditionalPut(t *testing.T) {
	credentials(t)
	for _, c := range []struct {
		name    string
		answers string
		want    string // won, lost or unknown
		puts    int
	}{
		{"at once", "ok", "won", 1},
		{"a: conflict twice, then won", "409 409 ok", "won", 3},
		{"b: another was there before", "ok+foreign", "lost", 1},
		{"c: the answer is lost", "lost ok", "won", 2},
		{"c: 500 though it was done", "500done ok", "won", 2},
		{"d: conflict, absent afterwards", "409 ok", "won", 2},
		{"d: conflict, then the other's is there", "409+foreign ok", "lost", 2},
		{"f: 500 and not done", "500 500 ok", "won", 3},
		{"f: reset and not done", "reset ok", "won", 2},
		{"f: reset, and another's is there", "reset+foreign ok", "lost", 2},
		{"f: never an answer", "500 500 500 500 500 500 500 500", "unknown", 8},
		{"f: done, and never an answer", "lost 500 500 500 500 500 500 500", "unknown", 8},
		{"always a conflict", "409 409 409 409 409 409 409 409", "unknown", 8},
		{"not ours to write", "403", "unknown", 1},
		{"condition not known", "501", "unknown", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &script{answers: strings.Fields(c.answers)}
			srv := httptest.NewServer(f)
			defer srv.Close()
			st := open(t, srv.URL, "w")
			s3.NoPauses(st)
			err := st.PutIfAbsent(t.Context(), "t/snapshot/snapshot-7", []byte("ours"))
			got := "unknown"
			if err == nil {
				got = "won"
			} else if errors.Is(err, objstore.ErrExist) {
				got = "lost"
			}
			if got != c.want || f.puts != c.puts {
				t.Errorf("%s after %d puts: %v; want %s after %d", got, f.puts, err, c.want, c.puts)
			}
			if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), srv.URL)) {
				t.Errorf("error tells too much: %v", err)
			}
			if got == "won" && string(f.body) != "ours" || got == "lost" && string(f.body) != "foreign" {
				t.Errorf("%s, but the object is %q", got, f.body)
			}
		})
	}
}

// TestProbe is case B39 (g): a service that takes the second put is refused.
func TestProbe(t *testing.T) {
	credentials(t)
	srv := httptest.NewServer(&script{answers: []string{"ok", "ignore"}})
	defer srv.Close()
	err := objstore.Probe(t.Context(), open(t, srv.URL, ""))
	if err == nil || !strings.Contains(err.Error(), "If-None-Match") {
		t.Errorf("probe: %v", err)
	}
}

// TestBrokenOffBody: a body that ends too early is asked for again, and never
// taken for the whole.
func TestBrokenOffBody(t *testing.T) {
	credentials(t)
	whole := bytes.Repeat([]byte("x"), 100_000)
	for _, bad := range []int{1, 2, 9} {
		gets := 0
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			gets++
			w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
			if gets <= bad {
				w.Write(whole[:len(whole)/2])
				return
			}
			w.Write(whole)
		}))
		st := open(t, srv.URL, "")
		s3.NoPauses(st)
		got, err := st.Get(t.Context(), "k")
		if bad < 3 && (err != nil || !bytes.Equal(got, whole)) || bad >= 3 && err == nil {
			t.Errorf("%d broken bodies: %d bytes, %v", bad, len(got), err)
		}
		srv.Close()
	}
}

// TestAway: a service that is not there is an error that names it no further
// than the key, in good time.
func TestAway(t *testing.T) {
	credentials(t)
	srv := httptest.NewServer(http.NotFoundHandler())
	url := srv.URL
	srv.Close()
	st := open(t, url, "")
	s3.NoPauses(st)
	begin := time.Now()
	_, getErr := st.Get(t.Context(), "k")
	for _, err := range []error{getErr, st.Put(t.Context(), "k", nil), st.PutIfAbsent(t.Context(), "k", nil)} {
		if err == nil || errors.Is(err, objstore.ErrNotExist) || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), secret) {
			t.Errorf("%v", err)
		}
	}
	if d := time.Since(begin); d > 30*time.Second {
		t.Errorf("took %v", d)
	}
}

// TestNoBucket: a missing bucket is not a missing object.
func TestNoBucket(t *testing.T) {
	credentials(t)
	srv := httptest.NewServer(gofakes3.New(s3mem.New(), gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
	defer srv.Close()
	st := open(t, srv.URL, "")
	_, getErr := st.Get(t.Context(), "k")
	for _, err := range []error{getErr, st.Put(t.Context(), "k", nil), st.PutIfAbsent(t.Context(), "k", nil)} {
		if err == nil || errors.Is(err, objstore.ErrNotExist) {
			t.Errorf("%v", err)
		}
	}
	for _, err := range st.List(t.Context(), "") {
		if err == nil || errors.Is(err, objstore.ErrNotExist) {
			t.Errorf("list: %v", err)
		}
	}
}

func TestOpenFaults(t *testing.T) {
	credentials(t)
	for _, o := range []s3.Options{
		{}, {Bucket: "a/b"}, {Bucket: "b", Prefix: "/x"}, {Bucket: "b", Prefix: "../x"}, {Bucket: "b", Endpoint: "localhost:9000"},
		{Bucket: "b", Endpoint: "http://key:" + secret + "@localhost:9000"}, {Bucket: "b", Endpoint: "http://localhost/?token=" + secret},
	} {
		_, err := s3.Open(t.Context(), o)
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("HOME", t.TempDir())
	if _, err := s3.Open(t.Context(), s3.Options{Bucket: "b"}); err == nil || !strings.Contains(err.Error(), "credentials") {
		t.Errorf("without credentials: %v", err)
	}
}
