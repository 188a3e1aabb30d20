package acp

import (
	"sync"

	"hob/autonomy/llm"
)

// maxQueued is the maximum number of bytes that may wait for a slow reader.
const maxQueued = 4 << 20

// item is one piece of output from the agent.
type item struct {
	kind   llm.EventKind // kind of the content: TextDelta, ReasoningDelta or ImageDone
	text   []byte
	image  llm.Image
	action *llm.Action
	note   string
}

// queue stores output until the stream's reader reads it. Writers never block, because the SDK ends
// a connection if notifications are not read immediately. Consecutive pieces of text become one
// item.
type queue struct {
	ready chan struct{} // signaled if there are items

	mu    sync.Mutex
	items []item
	bytes int
	full  bool // whether items were dropped
}

func (q *queue) putItem(i item) {
	q.mu.Lock()
	size := len(i.text) + len(i.image.Data) + len(i.note)
	if i.action != nil {
		size += len(i.action.Args) + len(i.action.Result) + len(i.action.Title)
	}
	switch n := len(q.items); {
	case q.bytes+size > maxQueued, n >= 10_000:
		q.full = true
	case n > 0 && i.text != nil && q.items[n-1].text != nil && q.items[n-1].kind == i.kind:
		q.items[n-1].text = append(q.items[n-1].text, i.text...)
		q.bytes += size
	default:
		q.items = append(q.items, i)
		q.bytes += size
	}
	q.mu.Unlock()
	q.wakeReader()
}

// wakeReader wakes the reader and signals that the agent is active.
func (q *queue) wakeReader() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

func (q *queue) takeItems() (items []item, full bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	items, q.items, q.bytes = q.items, nil, 0
	return items, q.full
}
