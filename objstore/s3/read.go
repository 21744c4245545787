package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"dtstore/objstore"
)

// Get implements objstore.Store.
func (s *store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := s.check(ctx, "get", key, objstore.CheckKey); err != nil {
		return nil, err
	}
	return s.fetch(ctx, key, nil, -1)
}

// GetRange implements objstore.Store.
func (s *store) GetRange(ctx context.Context, key string, off, n int64) ([]byte, error) {
	if err := s.check(ctx, "get", key, objstore.CheckKey); err != nil {
		return nil, err
	}
	if off < 0 || n < 0 {
		return nil, fmt.Errorf("get %s: range of %d bytes at %d", key, n, off)
	}
	if n == 0 {
		_, err := s.Stat(ctx, key)
		return nil, err
	}
	last := off + n - 1
	if last < off {
		last = 1<<63 - 1
	}
	body, err := s.fetch(ctx, key, aws.String(fmt.Sprintf("bytes=%d-%d", off, last)), n)
	if status(err) == http.StatusRequestedRangeNotSatisfiable {
		return nil, nil // it begins at or past the end
	}
	if err == errWhole { // the service does not know ranges
		if body, err = s.Get(ctx, key); err == nil {
			off = min(off, int64(len(body)))
			body = body[off : off+min(n, int64(len(body))-off)]
		}
	}
	return body, err
}

var errWhole = errors.New("the service sent the whole object for a range")

// fetch reads an object or a range of it. An answer that breaks off in the
// middle is asked for again.
func (s *store) fetch(ctx context.Context, key string, byteRange *string, most int64) ([]byte, error) {
	for try := 0; ; try++ {
		out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: s.key(key), Range: byteRange})
		if err != nil {
			if status(err) == http.StatusRequestedRangeNotSatisfiable {
				return nil, err
			}
			return nil, explain(ctx, "get", key, err)
		}
		if byteRange != nil && out.ContentRange == nil {
			out.Body.Close()
			return nil, errWhole
		}
		body, err := readAll(out.Body, aws.ToInt64(out.ContentLength), most)
		out.Body.Close()
		if err == nil {
			return body, nil
		}
		if try == 2 || ctx.Err() != nil {
			return nil, explain(ctx, "get", key, err)
		}
		if err := s.pause(ctx, try); err != nil {
			return nil, fmt.Errorf("get %s: %w", key, err)
		}
	}
}

// readAll reads an answer's body of the given length, at most so many bytes
// unless most < 0.
func readAll(r io.Reader, length, most int64) ([]byte, error) {
	if most >= 0 && length > most {
		return nil, fmt.Errorf("%d bytes were asked for and %d are sent", most, length)
	}
	var buf bytes.Buffer
	buf.Grow(int(min(max(length, 0), 64<<20)) + bytes.MinRead)
	got, err := io.Copy(&buf, r)
	if err == nil && got != length && length >= 0 {
		err = io.ErrUnexpectedEOF
	}
	return buf.Bytes(), err
}

// Stat implements objstore.Store.
func (s *store) Stat(ctx context.Context, key string) (objstore.Object, error) {
	if err := s.check(ctx, "stat", key, objstore.CheckKey); err != nil {
		return objstore.Object{}, err
	}
	out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: s.key(key)})
	if err != nil {
		return objstore.Object{}, explain(ctx, "stat", key, err)
	}
	return objstore.Object{Key: key, Size: aws.ToInt64(out.ContentLength), Modified: aws.ToTime(out.LastModified)}, nil
}

// List implements objstore.Store.
func (s *store) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		if err := s.check(ctx, "list", prefix, objstore.CheckPrefix); err != nil {
			yield(objstore.Object{}, err)
			return
		}
		pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: s.key(prefix)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(objstore.Object{}, explain(ctx, "list", prefix, listed(err)))
				return
			}
			for _, o := range page.Contents {
				key, ok := strings.CutPrefix(aws.ToString(o.Key), s.prefix)
				if !ok || objstore.CheckKey(key) != nil { // a folder's marker, or nothing that we can name
					continue
				}
				if !yield(objstore.Object{Key: key, Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified)}, nil) {
					return
				}
			}
		}
	}
}

// Folders implements objstore.Store.
func (s *store) Folders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if prefix != "" {
			if err := s.check(ctx, "list folders", prefix, objstore.CheckFolder); err != nil {
				yield("", err)
				return
			}
		}
		pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: s.key(prefix), Delimiter: aws.String("/")})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield("", explain(ctx, "list folders of", prefix, listed(err)))
				return
			}
			for _, name := range pageFolders(page, s.prefix+prefix) {
				if objstore.CheckKey(name) == nil && !yield(name, nil) {
					return
				}
			}
		}
	}
}

// pageFolders returns the folders of one page of a listing by "/", in order.
// Some services list the marker of an empty folder as an object.
func pageFolders(page *s3.ListObjectsV2Output, prefix string) []string {
	var found []string // with the "/", which decides the order
	for _, p := range page.CommonPrefixes {
		found = append(found, aws.ToString(p.Prefix))
	}
	for _, o := range page.Contents {
		if key := aws.ToString(o.Key); strings.HasSuffix(key, "/") {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	names := found[:0]
	for _, key := range slices.Compact(found) {
		if name, ok := strings.CutPrefix(key, prefix); ok && name != "" {
			names = append(names, strings.TrimSuffix(name, "/"))
		}
	}
	return names
}

// listed keeps a 404 from reading as "this object does not exist".
func listed(err error) error {
	if status(err) == http.StatusNotFound {
		return errors.New("s3 answers 404: no such bucket")
	}
	return err
}
