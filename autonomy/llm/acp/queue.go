package acp

import (
	"sync"

	"hob/autonomy/llm"
)

// maxQueued is how many bytes may wait for a slow reader.
const maxQueued = 4 << 20

// item is something that came from the agent.
type item struct {
	kind   llm.Kind // TextDelta, ReasoningDelta or ImageDone, when it is said
	text   []byte
	image  llm.Image
	action *llm.Action
	note   string
}

// queue holds what has come until the stream's reader takes it. It never holds
// up whoever puts something in: the SDK ends a connection whose notifications
// are not taken at once. Words that follow each other become one item.
type queue struct {
	ready chan struct{} // signalled when there is something

	mu    sync.Mutex
	items []item
	bytes int
	full  bool // something was left out
}

func (q *queue) put(i item) {
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
	q.poke()
}

// poke makes the reader look, and know that the agent lives.
func (q *queue) poke() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

func (q *queue) take() (items []item, full bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	items, q.items, q.bytes = q.items, nil, 0
	return items, q.full
}
