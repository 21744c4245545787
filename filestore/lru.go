package filestore

import (
	"container/list"
	"sync"
)

// lru keeps what was used last, up to a sum of costs.
type lru[K comparable, V any] struct {
	limit int64

	mu    sync.Mutex // guards the rest
	cost  int64
	order *list.List // of *lruItem, the last used in front
	items map[K]*list.Element
}

type lruItem[K comparable, V any] struct {
	key  K
	val  V
	cost int64
}

func newLRU[K comparable, V any](limit int64) *lru[K, V] {
	return &lru[K, V]{limit: limit, order: list.New(), items: map[K]*list.Element{}}
}

func (l *lru[K, V]) get(key K) (V, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.items[key]
	if !ok {
		var none V
		return none, false
	}
	l.order.MoveToFront(e)
	return e.Value.(*lruItem[K, V]).val, true
}

// put stores val, and lets go of what was used longest ago.
func (l *lru[K, V]) put(key K, val V, cost int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.items[key]; ok {
		l.drop(e)
	}
	if cost > l.limit {
		return
	}
	l.items[key] = l.order.PushFront(&lruItem[K, V]{key, val, cost})
	l.cost += cost
	for l.cost > l.limit {
		l.drop(l.order.Back())
	}
}

func (l *lru[K, V]) remove(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.items[key]; ok {
		l.drop(e)
	}
}

func (l *lru[K, V]) drop(e *list.Element) {
	item := l.order.Remove(e).(*lruItem[K, V])
	l.cost -= item.cost
	delete(l.items, item.key)
}
