package s3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"dtstore/objstore"
)

// status is the HTTP status of the service's answer, 0 without one.
func status(err error) int {
	var re *awshttp.ResponseError
	if errors.As(err, &re) {
		return re.HTTPStatusCode()
	}
	return 0
}

// explain says what was done to what and why it failed, with the service's code
// and message or the network's error and nothing else: the SDK's own texts hold
// URLs and, when credentials cannot be read, whatever stood in their place.
func explain(ctx context.Context, op, key string, err error) error {
	if err == nil {
		return nil
	}
	code := status(err)
	var api smithy.APIError
	isAPI := errors.As(err, &api)
	if code == http.StatusNotFound && !(isAPI && api.ErrorCode() == "NoSuchBucket") {
		return fmt.Errorf("%s %s: %w", op, key, objstore.ErrNotExist)
	}
	var urlErr *url.Error
	var netErr net.Error
	switch {
	case errors.Is(err, context.Canceled):
		err = context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		// Only the caller's own deadline is its own: the network's is a failure.
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer in time: %w", context.DeadlineExceeded)
		} else {
			err = errors.New("no answer in time")
		}
	case isAPI && code != 0:
		err = fmt.Errorf("s3 answers %d %s: %s", code, api.ErrorCode(), clip(api.ErrorMessage()))
	case code != 0:
		err = fmt.Errorf("s3 answers %d", code)
	case errors.As(err, &urlErr):
		err = urlErr.Err // without the URL
	case errors.As(err, &netErr):
		err = netErr
	case strings.Contains(err.Error(), "identity"), strings.Contains(err.Error(), "credential"), strings.Contains(err.Error(), "sign"):
		err = errors.New("no usable credentials in the AWS SDK's usual chain")
	}
	return fmt.Errorf("%s %s: %w", op, key, objstore.Failed(err))
}

// clip bounds a text that the service chose.
func clip(s string) string {
	const most = 200
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
