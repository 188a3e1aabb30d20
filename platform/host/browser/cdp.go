package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// maxMessage is the maximum size of a browser message in bytes; screenshots are the largest.
const maxMessage = 24 << 20

var (
	errLost     = errors.New("browser has ended")
	errTooLarge = errors.New("the browser's response is larger than 24 MB")
)

// cdpConn is a DevTools protocol connection over the browser's two pipes. In both directions it
// transfers JSON messages that end with a zero byte (chromedevtools.github.io/devtools-protocol).
type cdpConn struct {
	w      io.WriteCloser
	r      io.ReadCloser
	events func(cdpEvent) // called for each event, in order; must not block
	lost   chan struct{}
	out    chan []byte
	work   sync.WaitGroup

	mu      sync.Mutex
	next    int64
	waiting map[int64]chan cdpMessage
}

type cdpEvent struct {
	Method  string
	Session string
	Params  json.RawMessage
}

type cdpMessage struct {
	ID      int64           `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *cdpError       `json:"error,omitempty"`
	err     error
}

// cdpError is the browser's error for a failed command.
type cdpError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *cdpError) Error() string { return sanitizeLine(e.Message, 300) }

func newConn(r io.ReadCloser, w io.WriteCloser, events func(cdpEvent)) *cdpConn {
	c := &cdpConn{w: w, r: r, events: events, lost: make(chan struct{}), out: make(chan []byte, 64), waiting: map[int64]chan cdpMessage{}}
	c.work.Go(c.readLoop)
	c.work.Go(c.writeLoop)
	return c
}

// close closes the connection, which ends the browser.
func (c *cdpConn) close() {
	_ = c.w.Close()
	_ = c.r.Close()
	c.work.Wait()
}

func (c *cdpConn) writeLoop() {
	for {
		select {
		case b := <-c.out:
			if _, err := c.w.Write(b); err != nil {
				_ = c.r.Close() // the reader then closes the lost channel
				return
			}
		case <-c.lost:
			return
		}
	}
}

func (c *cdpConn) readLoop() {
	defer close(c.lost)
	br := bufio.NewReaderSize(c.r, 64<<10)
	for {
		b, whole, err := readMessage(br)
		if err != nil {
			return
		}
		var m cdpMessage
		if !whole {
			m = cdpMessage{ID: idOf(b), err: errTooLarge}
		} else if json.Unmarshal(b, &m) != nil {
			continue
		}
		c.deliverMessage(m)
	}
}

func (c *cdpConn) deliverMessage(m cdpMessage) {
	if m.ID == 0 {
		if m.Method != "" {
			c.events(cdpEvent{m.Method, m.Session, m.Params})
		}
		return
	}
	c.mu.Lock()
	ch := c.waiting[m.ID]
	delete(c.waiting, m.ID)
	c.mu.Unlock()
	if ch != nil {
		ch <- m // the channel has a free slot
	}
}

// readMessage reads up to the next zero byte. If the message is too long, it returns only the
// beginning of the message.
func readMessage(br *bufio.Reader) (b []byte, whole bool, err error) {
	whole = true
	for {
		part, err := br.ReadSlice(0)
		switch {
		case len(b)+len(part) <= maxMessage && whole:
			b = append(b, part...)
		case whole:
			whole, b = false, append([]byte(nil), b[:min(len(b), 200)]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSuffix(b, []byte{0}), whole, err
	}
}

// idOf returns the id at the beginning of an answer, or 0 if there is none.
func idOf(b []byte) int64 {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(b), []byte(`{"id":`))
	if !ok {
		return 0
	}
	digits, _, _ := bytes.Cut(rest, []byte(","))
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(digits)), 10, 64) // 0 on error, which is not the id of any command
	return n
}

// callCommand runs a command and decodes its result into out, which may be nil.
func (c *cdpConn) callCommand(ctx context.Context, session, method string, params, out any) error {
	m := cdpMessage{Session: session, Method: method}
	if params != nil {
		b, err := json.Marshal(params)
		if err != nil {
			return fmt.Errorf("browser: %s: %w", method, err)
		}
		m.Params = b
	}
	ch := make(chan cdpMessage, 1)
	c.mu.Lock()
	c.next++
	m.ID = c.next
	c.waiting[m.ID] = ch
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, m.ID)
		c.mu.Unlock()
	}()
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("browser: %s: %w", method, err)
	}
	select {
	case c.out <- append(b, 0):
	case <-c.lost:
		return errLost
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case m = <-ch:
	case <-c.lost:
		return errLost
	case <-ctx.Done():
		return ctx.Err()
	}
	switch {
	case m.err != nil:
		return m.err
	case m.Error != nil:
		return m.Error
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(m.Result, out); err != nil {
		return fmt.Errorf("browser: decode the answer to %s: %w", method, err)
	}
	return nil
}

// rawValue is an unparsed JSON value from a page.
type rawValue json.RawMessage

// UnmarshalJSON implements json.Unmarshaler.
func (v *rawValue) UnmarshalJSON(b []byte) error {
	*v = append((*v)[:0], b...)
	return nil
}

func (v rawValue) decodeInto(out any) error {
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(v, out); err != nil {
		return fmt.Errorf("browser: decode the page's result: %w", err)
	}
	return nil
}

// limits contains the timeouts for pages.
type limits struct {
	// load is the maximum wait until a page is loaded, and quiet the maximum wait until it makes
	// few requests. After that the page is read in its current state.
	load, quiet time.Duration
	// answer is the time limit for one of Hob's scripts, after which the page counts as busy. click
	// is the time limit for a click.
	answer, click time.Duration
	// script is the time limit of a script, including the promises that it awaits.
	script time.Duration
	// read is the time limit for reading a page.
	read time.Duration
	// calm is the time to wait for the effects of an action.
	calm time.Duration
}

func defaultLimits() limits {
	return limits{
		load: 20 * time.Second, quiet: 2 * time.Second, answer: 8 * time.Second, click: 3 * time.Second,
		script: 5 * time.Second, read: 2500 * time.Millisecond, calm: 400 * time.Millisecond,
	}
}
