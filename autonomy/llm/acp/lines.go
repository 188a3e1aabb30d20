package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode"
)

const (
	// maxLine is the maximum length of a message from an agent, in bytes. The SDK's own limit is 10
	// MiB.
	maxLine = 8 << 20
	// maxStray is the maximum number of output lines that are not messages. Such lines are ignored,
	// because some programs print a greeting on their standard output.
	maxStray = 50
	// maxUnderWay is the maximum number of notifications that the SDK processes at the same time.
	// The SDK ends the connection if more than 1,024 are waiting.
	maxUnderWay = 256
)

// boundedLines yields the lines of r without line ends, truncated to max bytes.
func boundedLines(r io.Reader, max int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		b := bufio.NewReaderSize(r, 64<<10)
		var line []byte
		for {
			part, err := b.ReadSlice('\n')
			line = append(line, part[:min(len(part), max-len(line))]...)
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if len(line) > 0 && !yield(bytes.TrimRight(line, "\r\n")) {
				return
			}
			if err != nil {
				return
			}
			line = line[:0]
		}
	}
}

// filterMessages passes the agent's messages to the SDK. The SDK ignores invalid messages, so a
// caller would wait forever for a lost answer. Therefore an invalid message ends the child with an
// error.
func (c *child) filterMessages(stdout io.Reader, to *io.PipeWriter) {
	defer to.Close() //nolint:errcheck // closing this pipe never fails
	stray := 0
	b := bufio.NewReaderSize(stdout, 64<<10)
	for {
		line, err := readLine(b)
		if err != nil && !errors.Is(err, io.EOF) {
			if errors.Is(err, errLongLine) {
				c.breakWith(err)
			}
			return
		}
		text := bytes.TrimSpace(line)
		switch note, good := parseMessage(text); {
		case len(text) == 0:
		case !good && (text[0] == '{' || stray >= maxStray):
			c.breakWith(fmt.Errorf("the agent sent a message that is not JSON: %s", singleLine(redactLine(string(text), c.words.secrets), 80)))
			return
		case !good:
			stray++
		default:
			if note && !c.acquireSlot() {
				return
			}
			if _, werr := to.Write(append(text[:len(text):len(text)], '\n')); werr != nil {
				return // the SDK has stopped reading
			}
		}
		if err != nil {
			return
		}
	}
}

var errLongLine = fmt.Errorf("the agent sent a message longer than %d MB", maxLine>>20)

func readLine(b *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := b.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, errLongLine
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// parseMessage reports whether a line is one JSON object, and whether it is a notification.
func parseMessage(line []byte) (notification, ok bool) {
	var m struct {
		ID     *json.RawMessage `json:"id"`
		Method string           `json:"method"`
	}
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &m) != nil {
		return false, false
	}
	return m.ID == nil && m.Method != "" && m.Method != "$/cancel_request", true
}

// acquireSlot waits for a notification slot. It returns false if the connection ended.
func (c *child) acquireSlot() bool {
	select {
	case c.room <- struct{}{}:
		return true
	case <-c.conn.Done():
		return false
	}
}

// releaseSlot releases a notification slot.
func (c *child) releaseSlot() {
	select {
	case <-c.room:
	default: // a request with the method name of a notification holds no slot
	}
}

// singleLine returns the untrusted text s as one line of at most max runes.
func singleLine(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
	if r := []rune(strings.TrimSpace(s)); len(r) > max {
		return string(r[:max]) + "…"
	}
	return strings.TrimSpace(s)
}
