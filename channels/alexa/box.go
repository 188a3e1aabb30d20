package alexa

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/channels"
)

// Limits of the queue.
const (
	keeps    = 24 * time.Hour
	maxItems = 50
	maxIDs   = 200
	maxBox   = 4 << 20 // maximum file size in bytes
	boxFile  = "answers.json"
)

// queuedText is text that Alexa has not spoken yet.
type queuedText struct {
	ID    string    `json:"id"`
	Chat  string    `json:"chat"`
	Event string    `json:"event"`
	Text  string    `json:"text"`
	At    time.Time `json:"at"`
	// Asks is true if the text is a question, which stays in the queue until it is answered. Spoken
	// is true if Alexa has spoken the text.
	Asks   bool `json:"asks,omitempty"`
	Spoken bool `json:"spoken,omitempty"`
}

// queueFile is the file format of the queue.
type queueFile struct {
	Items []queuedText `json:"items"`
	IDs   []string     `json:"ids"` // ids of recently queued messages
}

// speechQueue stores messages until they are spoken. They are stored in a file in the channel's
// folder.
type speechQueue struct {
	dir string // folder of the file; "" means in memory only

	mu      sync.Mutex
	kept    queueFile
	expects map[string][]string // chat -> events whose answer is pending
	changed chan struct{}       // closed and replaced at each change
}

func newBox(dir string) *speechQueue {
	return &speechQueue{dir: dir, expects: map[string][]string{}, changed: make(chan struct{})}
}

// loadFile reads the queue from its file.
func (b *speechQueue) loadFile(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dir == "" {
		return nil
	}
	f, err := os.Stat(filepath.Join(b.dir, boxFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if f.Size() > maxBox {
		return b.saveFile() // no valid file is that large
	}
	data, err := os.ReadFile(filepath.Join(b.dir, boxFile))
	if err != nil {
		return err
	}
	var k queueFile
	if json.Unmarshal(data, &k) != nil {
		return b.saveFile() // only Hob writes the file
	}
	b.kept = k
	b.dropExpired(now)
	return nil
}

// dropExpired removes expired messages. The caller holds b.mu.
func (b *speechQueue) dropExpired(now time.Time) {
	b.kept.Items = slices.DeleteFunc(b.kept.Items, func(i queuedText) bool { return now.Sub(i.At) > keeps })
	b.kept.Items = b.kept.Items[max(0, len(b.kept.Items)-maxItems):]
	b.kept.IDs = b.kept.IDs[max(0, len(b.kept.IDs)-maxIDs):]
}

// saveFile writes the file atomically. The caller holds b.mu.
func (b *speechQueue) saveFile() error {
	if b.dir == "" {
		return nil
	}
	data, err := json.Marshal(b.kept)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(b.dir, ".answers-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(b.dir, boxFile))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// enqueueText queues a message. It ignores a repeated delivery.
func (b *speechQueue) enqueueText(d channels.Delivery, text string, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.Contains(b.kept.IDs, d.ID) {
		return nil
	}
	was := queueFile{slices.Clone(b.kept.Items), slices.Clone(b.kept.IDs)}
	b.kept.Items = append(b.kept.Items, queuedText{ID: d.ID, Chat: d.Chat, Event: d.Event, Text: strings.TrimSpace(text), At: now, Asks: d.Kind == channels.Question})
	b.kept.IDs = append(b.kept.IDs, d.ID)
	b.dropExpired(now)
	if err := b.saveFile(); err != nil {
		b.kept = was
		return err
	}
	if d.Kind == channels.Reply {
		b.markAnswered(d.Chat, d.Event)
	}
	close(b.changed)
	b.changed = make(chan struct{})
	return nil
}

// markAnswered removes the event from the pending answers. The caller holds b.mu.
func (b *speechQueue) markAnswered(chat, event string) {
	left := slices.DeleteFunc(b.expects[chat], func(e string) bool { return e == event })
	if len(left) == 0 {
		delete(b.expects, chat)
		return
	}
	b.expects[chat] = left
}

// maxExpects is the maximum number of pending answers.
const maxExpects = 20

// expectAnswer records that the answer to event is pending, unless it has arrived.
func (b *speechQueue) expectAnswer(chat, event string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	here := slices.ContainsFunc(b.kept.Items, func(i queuedText) bool { return i.Chat == chat && i.Event == event })
	if here || slices.Contains(b.expects[chat], event) {
		return
	}
	list := append(b.expects[chat], event)
	b.expects[chat] = list[max(0, len(list)-maxExpects):]
}

// waitState reports whether an answer is pending. The channel it returns is closed at the next
// change.
func (b *speechQueue) waitState(chat string) (bool, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.expects[chat]) > 0, b.changed
}

// mostAtOnce is the maximum length of queued text per response. It leaves room for additions.
const mostAtOnce = maxSpeech - 500

// takeSpeech removes and returns the queued messages of a chat, up to the maximum per response:
// those of one event, or all if event is "". A question ends the response and moves to the end of
// the queue. If the removal cannot be stored, takeSpeech returns the messages anyway.
func (b *speechQueue) takeSpeech(chat, event string, now time.Time) (text string, asks *queuedText, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropExpired(now)
	var said []string
	room, left, more, full := mostAtOnce, []queuedText{}, false, false
	for _, i := range b.kept.Items {
		if i.Chat != chat || event != "" && i.Event != event {
			left = append(left, i)
			continue
		}
		head, rest := splitAtLimit(i.Text, room)
		if full || rest != "" && len(said) > 0 {
			left, more, full = append(left, i), true, true
			continue
		}
		said = append(said, head)
		room -= len([]rune(plainSpeech(head).SSML))
		switch {
		case rest != "":
			i.Text = rest
			left, more, full = append(left, i), true, true
		case i.Asks:
			asks, full = &i, true
		}
	}
	if len(said) == 0 {
		return "", nil, nil
	}
	if asks != nil {
		again := *asks
		again.Spoken = true
		left = append(left, again)
	} else if more {
		said = append(said, moreWait)
	}
	b.kept.Items = left
	return strings.Join(said, "\n\n"), asks, b.saveFile()
}

// dropText removes a message from the queue.
func (b *speechQueue) dropText(id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := len(b.kept.Items)
	b.kept.Items = slices.DeleteFunc(b.kept.Items, func(i queuedText) bool { return i.ID == id })
	if len(b.kept.Items) == was {
		return nil
	}
	return b.saveFile()
}
