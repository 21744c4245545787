package logstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"sync"

	"dtstore/table"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// produceBatch is one encoded batch for one log partition, and what became of
// it. The data stays as it is for as long as it is sent.
type produceBatch struct {
	topic Topic
	at    tp
	data  []byte
	count int32

	offset   table.Offset // of its first record, once it landed
	err      error        // of the last try; nil with answered: it landed
	answered bool         // the last try was answered about this batch
	maybe    bool         // some try may have landed without our knowing
	final    bool         // the outcome is known
}

// restamp changes a finished batch's producer.
func restamp(b []byte, pid int64, epoch int16, seq int32) {
	binary.BigEndian.PutUint64(b[43:], uint64(pid))
	binary.BigEndian.PutUint16(b[51:], uint16(epoch))
	binary.BigEndian.PutUint32(b[53:], uint32(seq))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
}

// produce sends the batches once, in one request per broker, and notes in each
// what was answered. txn is nil for plain batches.
func (l *Log) produce(ctx context.Context, batches []*produceBatch, txn *producer, stale bool) {
	byLeader := map[int32][]*produceBatch{}
	for _, b := range batches {
		b.answered = false
		leader, err := l.meta.leader(ctx, b.topic, table.Bucket(b.at.part), stale)
		if err != nil {
			b.err = err
			b.answered = errors.Is(err, ErrNoTopic) // an answer about it: gone
			continue
		}
		byLeader[leader] = append(byLeader[leader], b)
	}
	if len(byLeader) == 1 {
		for leader, bs := range byLeader {
			l.produceTo(ctx, leader, bs, txn)
		}
		return
	}
	var wg sync.WaitGroup
	for leader, bs := range byLeader {
		wg.Go(func() { l.produceTo(ctx, leader, bs, txn) })
	}
	wg.Wait()
}

func (l *Log) produceTo(ctx context.Context, leader int32, batches []*produceBatch, txn *producer) {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, int32(l.opts.Timeout.Milliseconds())
	cl := l.cl
	if txn != nil {
		req.TransactionID, cl = &txn.id, l.txcl
	}
	by := make(map[tp]*produceBatch, len(batches))
	at := make(map[uuid]int, len(batches))
	for _, b := range batches {
		by[b.at] = b
		i, ok := at[b.at.id]
		if !ok {
			i = len(req.Topics)
			at[b.at.id] = i
			rt := kmsg.NewProduceRequestTopic()
			rt.Topic, rt.TopicID = b.topic.Name, b.at.id
			req.Topics = append(req.Topics, rt)
		}
		rp := kmsg.NewProduceRequestTopicPartition()
		rp.Partition, rp.Records = b.at.part, b.data
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, rp)
	}
	kresp, err := cl.Broker(int(leader)).Request(ctx, req)
	if err != nil {
		for _, b := range batches {
			b.err = err
			b.maybe = b.maybe || !unsent(err)
		}
		return
	}
	resp := kresp.(*kmsg.ProduceResponse)
	for _, b := range batches {
		b.err = errors.New("the broker's answer leaves it out")
	}
	for _, rt := range resp.Topics {
		id := uuid(rt.TopicID)
		if id == (uuid{}) { // answered by name
			for _, b := range batches {
				if b.topic.Name == rt.Topic {
					id = b.at.id
				}
			}
		}
		for _, rp := range rt.Partitions {
			b := by[tp{id, rp.Partition}]
			if b == nil {
				continue
			}
			b.answered, b.err, b.offset = true, kerr.ErrorForCode(rp.ErrorCode), table.Offset(rp.BaseOffset)
			if b.err != nil && afterAppend(b.err) {
				b.maybe = true
			}
			if b.err == nil && rp.BaseOffset < 0 {
				b.err = fmt.Errorf("the broker's answer has no offset: %w", kerr.DuplicateSequenceNumber)
				b.maybe = true
			}
		}
	}
	for _, b := range batches {
		b.maybe = b.maybe || !b.answered
	}
}

// unsent says whether the error came before anything left this process.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" || errors.Is(err, kgo.ErrClientClosed)
}

// afterAppend: errors of a broker that may have appended all the same.
func afterAppend(err error) bool {
	return errors.Is(err, kerr.RequestTimedOut) || errors.Is(err, kerr.NotEnoughReplicasAfterAppend) ||
		errors.Is(err, kerr.UnknownServerError) || errors.Is(err, kerr.NetworkException)
}

// retriable says whether the same request may succeed a little later.
func retriable(err error) bool {
	var ke *kerr.Error
	if errors.As(err, &ke) {
		return ke.Retriable || errors.Is(err, kerr.ConcurrentTransactions) || errors.Is(err, kerr.UnknownTopicID) || errors.Is(err, kerr.InconsistentTopicID) || errors.Is(err, kerr.UnknownServerError)
	}
	return !errors.Is(err, ErrNoTopic)
}
