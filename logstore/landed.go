package logstore

import (
	"context"
	"errors"
	"fmt"

	"dtstore/table"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// landed says whether the record at the beginning of a span is committed and
// carries the commit's id. The last stable offset must be past it.
func (l *Log) landed(ctx context.Context, w Written, id string) (bool, error) {
	u, _ := parseUUID(string(w.Topic.ID))
	at := tp{u, int32(w.Bucket)}
	d := decoder{unzip: kgo.DefaultDecompressor()}
	for try := 0; ; try++ {
		leader, err := l.meta.leader(ctx, w.Topic, w.Bucket, try > 0)
		if err != nil {
			return false, err
		}
		resp, err := fetchFrom(ctx, l.cl, leader, []fetchPart{{at, w.Span.From, partitionBytes}}, 0)
		if err == nil && len(resp.Topics) == 1 && len(resp.Topics[0].Partitions) == 1 {
			rp := &resp.Topics[0].Partitions[0]
			switch err = kerr.ErrorForCode(rp.ErrorCode); {
			case err == nil:
				records, next, e := d.decode(nil, rp.RecordBatches, w.Span.From, rp.AbortedTransactions)
				if e != nil || next > w.Span.From {
					return carries(records, w.Span.From, id), e
				}
				err = errors.New("no batch in the answer")
			case errors.Is(err, kerr.OffsetOutOfRange):
				return false, fmt.Errorf("read %s bucket %d at %d: %w", w.Topic.Name, w.Bucket, w.Span.From, ErrTrimmed)
			}
		}
		if !pause(ctx, try) {
			return false, l.unavailable(err)
		}
	}
}

func carries(records []Fetched, at table.Offset, id string) bool {
	for i := range records {
		if records[i].Offset != at || records[i].Control {
			continue
		}
		for _, h := range records[i].Headers {
			if h.Key == HeaderCommit && commitText(h.Value) == id {
				return true
			}
		}
	}
	return false
}
