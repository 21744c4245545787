//go:build peers

package s3_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/uuid"

	"dtstore/objstore"
	"dtstore/objstore/s3"
	"dtstore/objstore/storetest"
)

// realStore returns an empty store on the S3 server that DTSTORE_S3_ENDPOINT
// names; credentials are in the environment as for any S3 client.
func realStore(t *testing.T) func(t *testing.T) objstore.Store {
	endpoint := os.Getenv("DTSTORE_S3_ENDPOINT")
	if endpoint == "" {
		t.Fatal("DTSTORE_S3_ENDPOINT is not set: it names the S3 server under test, like http://127.0.0.1:17070")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion("us-east-1"))
	if err != nil {
		t.Fatal(err)
	}
	client := awss3.NewFromConfig(cfg, func(o *awss3.Options) { o.BaseEndpoint, o.UsePathStyle = &endpoint, true })
	bucket := "dtstore-test"
	_, err = client.CreateBucket(ctx, &awss3.CreateBucketInput{Bucket: &bucket})
	var ours *types.BucketAlreadyOwnedByYou
	var exists *types.BucketAlreadyExists
	if err != nil && !errors.As(err, &ours) && !errors.As(err, &exists) {
		t.Fatalf("make a bucket at %s: %v", endpoint, err)
	}
	return func(t *testing.T) objstore.Store {
		s, err := s3.Open(t.Context(), s3.Options{Bucket: bucket, Prefix: "run-" + uuid.NewString(), Endpoint: endpoint, PathStyle: true})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func TestRealServer(t *testing.T) {
	storetest.Run(t, realStore(t))
}

// TestRealCommitters is the end of case B39 (g): a hundred committers in
// parallel make snapshots 1 to 100, without holes or doubles.
func TestRealCommitters(t *testing.T) {
	s := realStore(t)(t)
	const committers = 100
	var mu sync.Mutex
	won := map[int]int{}
	var wg sync.WaitGroup
	for c := range committers {
		wg.Go(func() {
			for n := 1; ; n++ {
				err := s.PutIfAbsent(t.Context(), fmt.Sprintf("snapshot/snapshot-%d", n), fmt.Append(nil, c))
				if errors.Is(err, objstore.ErrExist) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				won[n]++
				mu.Unlock()
				return
			}
		})
	}
	wg.Wait()
	for n := 1; n <= committers; n++ {
		if won[n] != 1 {
			t.Errorf("snapshot %d: %d winners", n, won[n])
		}
	}
}
