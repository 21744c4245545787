package s3

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"dtstore/objstore"
)

// Options say where the store lies.
type Options struct {
	Bucket    string // of S3; must exist
	Prefix    string // keys of the store begin with it and a "/"; may be empty
	Endpoint  string // URL of a service that is not AWS; empty means AWS
	Region    string // empty means the SDK's configuration, else us-east-1
	PathStyle bool   // bucket in the path and not in the host name
}

// Validate names all faults of the options.
func (o Options) Validate() error {
	var errs []error
	if o.Bucket == "" || strings.ContainsAny(o.Bucket, "/?# ") {
		errs = append(errs, fmt.Errorf("bucket: %q is no bucket name", o.Bucket))
	}
	if o.Prefix != "" {
		if err := objstore.CheckKey(o.Prefix); err != nil {
			errs = append(errs, fmt.Errorf("prefix: %w", err))
		}
	}
	if o.Endpoint != "" {
		u, err := url.Parse(o.Endpoint)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			errs = append(errs, errors.New("endpoint: not a URL like http://host:port")) // not echoed: it may hold a password
		case u.User != nil || u.RawQuery != "" || u.Fragment != "":
			errs = append(errs, errors.New("endpoint: a URL with credentials or a query; credentials come from the environment or ~/.aws"))
		}
	}
	return errors.Join(errs...)
}

const (
	maxTries   = 8 // of one put-if-absent; with the pauses below some 6 s of 409s
	firstPause = 30 * time.Millisecond
	lastPause  = 2 * time.Second

	answerTimeout = 30 * time.Second // for the head of an answer, once the request is out
)

type store struct {
	client *s3.Client
	bucket string
	prefix string // "" or ends in "/"
	pause  func(ctx context.Context, try int) error
}

// Open returns the store. It finds credentials but asks the service nothing:
// objstore.Probe does.
func Open(ctx context.Context, o Options) (objstore.Store, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("open s3 store: %w", err)
	}
	transport := awshttp.NewBuildableClient().
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = 5 * time.Second }).
		WithTransportOptions(func(t *http.Transport) {
			t.ResponseHeaderTimeout = answerTimeout
			t.MaxIdleConnsPerHost = 64
		})
	cfg, err := config.LoadDefaultConfig(ctx,
		config.WithHTTPClient(transport),
		config.WithRetryer(func() aws.Retryer {
			return retry.NewStandard(func(r *retry.StandardOptions) {
				r.MaxAttempts = 4
				r.MaxBackoff = lastPause
				r.RateLimiter = unlimited{} // shared by all calls it would turn one outage into failures of healthy calls
			})
		}))
	if err != nil {
		return nil, errors.New("open s3 store: the AWS configuration (environment, ~/.aws/config, ~/.aws/credentials) cannot be read") // its text may hold secrets
	}
	if o.Region != "" {
		cfg.Region = o.Region
	}
	if cfg.Region == "" {
		cfg.Region = "us-east-1"
	}
	found, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	if cfg.Credentials == nil {
		return nil, errNoCredentials
	}
	if _, err := cfg.Credentials.Retrieve(found); err != nil {
		return nil, errNoCredentials
	}
	client := s3.NewFromConfig(cfg, func(so *s3.Options) {
		so.UsePathStyle = o.PathStyle
		if o.Endpoint != "" {
			so.BaseEndpoint = aws.String(o.Endpoint)
			// Services other than AWS choke on the checksum trailers.
			so.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
			so.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		}
	})
	s := &store{client: client, bucket: o.Bucket, pause: pause}
	if o.Prefix != "" {
		s.prefix = o.Prefix + "/"
	}
	return s, nil
}

var errNoCredentials = errors.New("open s3 store: no usable credentials in the AWS SDK's usual chain (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws, the machine's role)")

// unlimited is the retry budget of the SDK, switched off: tries are bounded by
// count and by the caller's context.
type unlimited struct{}

func (unlimited) GetToken(context.Context, uint) (func() error, error) {
	return func() error { return nil }, nil
}
func (unlimited) AddTokens(uint) error { return nil }

// once switches the SDK's retries off for a call.
func once(o *s3.Options) { o.Retryer = aws.NopRetryer{} }

func (s *store) key(key string) *string { return aws.String(s.prefix + key) }

// check is what stands before every call.
func (s *store) check(ctx context.Context, op, key string, check func(string) error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s: %w", op, key, context.Cause(ctx))
	}
	if err := check(key); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// pause waits before another try, longer each time and never the same.
func pause(ctx context.Context, try int) error {
	d := min(firstPause<<min(try, 10), lastPause)
	d = d/2 + time.Duration(rand.Uint64N(uint64(d)))
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
