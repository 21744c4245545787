package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"dtstore/objstore"
)

// Put implements objstore.Store.
func (s *store) Put(ctx context.Context, key string, body []byte) error {
	if err := s.check(ctx, "put", key, objstore.CheckKey); err != nil {
		return err
	}
	_, err := s.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.bucket, Key: s.key(key), Body: bytes.NewReader(body)})
	return explainPut(ctx, key, err)
}

// explainPut keeps a 404 (no such bucket) from reading as "does not exist".
func explainPut(ctx context.Context, key string, err error) error {
	if status(err) == http.StatusNotFound {
		return fmt.Errorf("put %s: s3 answers 404: no such bucket", key)
	}
	return explain(ctx, "put", key, err)
}

const putID = "dtstore-put" // metadata of an object: which call wrote it

// PutIfAbsent implements objstore.Store, as the package's comment says.
func (s *store) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	if err := s.check(ctx, "put", key, objstore.CheckKey); err != nil {
		return err
	}
	id := uuid.NewString()
	unknown := false // an earlier try may have won
	for try := 0; ; try++ {
		_, err := s.client.PutObject(ctx, &s3.PutObjectInput{
			Bucket: &s.bucket, Key: s.key(key), Body: bytes.NewReader(body),
			IfNoneMatch: aws.String("*"), Metadata: map[string]string{putID: id},
		}, once)
		switch code := status(err); {
		case err == nil:
			return nil
		case code == http.StatusPreconditionFailed && !unknown:
			return fmt.Errorf("put %s: %w", key, objstore.ErrExist)
		case code == http.StatusPreconditionFailed:
			ours, found, headErr := s.isOurs(ctx, key, id)
			if headErr == nil && ours {
				return nil
			} else if headErr == nil && found {
				return fmt.Errorf("put %s: %w", key, objstore.ErrExist)
			}
			// It cannot be seen, or is gone again: the next try tells.
		case code == http.StatusConflict, code == http.StatusTooManyRequests:
			// Refused: this try wrote nothing.
		case code == http.StatusNotImplemented:
			return explainPut(ctx, key, err) // the service does not know the condition
		case code >= 500 || code == 0 || code == http.StatusRequestTimeout:
			unknown = true
		default:
			return explainPut(ctx, key, err) // refused for good: access denied, no bucket
		}
		if ctx.Err() != nil || try == maxTries-1 {
			return explainPut(ctx, key, err)
		}
		if pauseErr := s.pause(ctx, try); pauseErr != nil {
			return fmt.Errorf("put %s: %w", key, pauseErr)
		}
	}
}

// isOurs reports whether the object was written by the call id, and whether it
// is there at all.
func (s *store) isOurs(ctx context.Context, key, id string) (ours, found bool, err error) {
	out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: s.key(key)})
	if status(err) == http.StatusNotFound {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	for k, v := range out.Metadata { // services differ in the case of names
		if strings.EqualFold(k, putID) {
			return v == id, true, nil
		}
	}
	return false, true, nil
}

const (
	partBytes     = 16 << 20
	maxParts      = 10_000
	partsInFlight = 4
)

// PutFile implements objstore.Store: in parts when the file is large.
func (s *store) PutFile(ctx context.Context, key, localPath string) error {
	if err := s.check(ctx, "put", key, objstore.CheckKey); err != nil {
		return err
	}
	f, err := os.Open(localPath)
	if err != nil {
		return fmt.Errorf("put %s from a local file: %w", key, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("put %s from a local file: %w", key, err)
	}
	if info.Size() <= 2*partBytes {
		_, err = s.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.bucket, Key: s.key(key), Body: f, ContentLength: aws.Int64(info.Size())})
		err = explainPut(ctx, key, err)
	} else {
		err = s.putParts(ctx, key, f, info.Size())
	}
	if err != nil {
		return err
	}
	return os.Remove(localPath)
}

func (s *store) putParts(ctx context.Context, key string, f io.ReaderAt, size int64) error {
	up, err := s.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: s.key(key)})
	if err != nil {
		return explainPut(ctx, key, err)
	}
	part := max(partBytes, (size+maxParts-1)/maxParts)
	parts := make([]types.CompletedPart, (size+part-1)/part)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(partsInFlight)
	for i := range parts {
		g.Go(func() error {
			off := int64(i) * part
			out, err := s.client.UploadPart(gctx, &s3.UploadPartInput{
				Bucket: &s.bucket, Key: s.key(key), UploadId: up.UploadId, PartNumber: aws.Int32(int32(i + 1)),
				Body: io.NewSectionReader(f, off, min(part, size-off)),
			})
			if err != nil {
				return fmt.Errorf("part %d: %w", i+1, err)
			}
			parts[i] = types.CompletedPart{ETag: out.ETag, PartNumber: aws.Int32(int32(i + 1))}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		s.abort(ctx, key, up.UploadId)
		return explainPut(ctx, key, err)
	}
	_, err = s.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &s.bucket, Key: s.key(key), UploadId: up.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	if err == nil {
		return nil
	}
	var gone *types.NoSuchUpload
	if errors.As(err, &gone) || status(err) == http.StatusNotFound {
		// A try whose answer was lost has completed it.
		if o, statErr := s.Stat(ctx, key); statErr == nil && o.Size == size {
			return nil
		}
		return fmt.Errorf("put %s: the upload was lost before it was complete", key)
	}
	s.abort(ctx, key, up.UploadId)
	return explainPut(ctx, key, err)
}

// abort gives an upload's parts free, also when ctx has ended. What it misses
// SweepLitter finds.
func (s *store) abort(ctx context.Context, key string, upload *string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.bucket, Key: s.key(key), UploadId: upload})
}

// Delete implements objstore.Store.
func (s *store) Delete(ctx context.Context, key string) error {
	if !strings.HasSuffix(key, "/") {
		if err := s.check(ctx, "delete", key, objstore.CheckKey); err != nil {
			return err
		}
		return s.remove(ctx, key)
	}
	if err := s.check(ctx, "delete", key, objstore.CheckFolder); err != nil {
		return err
	}
	for _, err := range s.List(ctx, key) {
		return err // an object lies in it, or it cannot be seen
	}
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: s.key(key)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return explain(ctx, "delete", key, listed(err))
		}
		for _, o := range page.Contents {
			marker, ok := strings.CutPrefix(aws.ToString(o.Key), s.prefix)
			if !ok || !strings.HasSuffix(marker, "/") {
				continue
			}
			if err := s.remove(ctx, marker); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *store) remove(ctx context.Context, key string) error {
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: s.key(key)})
	if err = explain(ctx, "delete", key, err); errors.Is(err, objstore.ErrNotExist) {
		return nil
	}
	return err
}

// MakeFolder implements objstore.Store with a zero-byte object, as Hadoop does.
func (s *store) MakeFolder(ctx context.Context, key string) error {
	if err := s.check(ctx, "make folder", key, objstore.CheckFolder); err != nil {
		return err
	}
	_, err := s.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.bucket, Key: s.key(key), Body: bytes.NewReader(nil)})
	return explainPut(ctx, key, err)
}

// SweepLitter implements objstore.Sweeper: uploads in parts that nobody ended.
func (s *store) SweepLitter(ctx context.Context, olderThan time.Time) ([]string, error) {
	var swept []string
	pages := s3.NewListMultipartUploadsPaginator(s.client, &s3.ListMultipartUploadsInput{Bucket: &s.bucket, Prefix: &s.prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return swept, explain(ctx, "list uploads below", s.prefix, listed(err))
		}
		for _, u := range page.Uploads {
			key, ok := strings.CutPrefix(aws.ToString(u.Key), s.prefix)
			if !ok || objstore.CheckKey(key) != nil || !aws.ToTime(u.Initiated).Before(olderThan) {
				continue
			}
			_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.bucket, Key: u.Key, UploadId: u.UploadId})
			if err != nil && status(err) != http.StatusNotFound {
				return swept, explain(ctx, "abort the upload of", key, err)
			}
			swept = append(swept, key)
		}
	}
	return swept, nil
}
