package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// maxEvent is the maximum size of one stream event in bytes.
const maxEvent = 8 << 20

// ServerEvent is one server-sent event.
type ServerEvent struct {
	Name string
	Data []byte // valid until the next call of Next
}

// EventReader parses server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html) leniently. An event may end with
// the stream instead of an empty line. Events may follow each other without an empty line if each
// line is complete JSON. A line "error: {...}", which llama.cpp sends, is an event named error.
type EventReader struct {
	in      *bufio.Reader
	line    []byte
	data    []byte
	name    string
	held    []byte // a data line that belongs to the next event
	hasData bool
	looks   int // number of checks whether the current event is complete
}

// NewEventReader returns a reader for the events in a body.
func NewEventReader(r io.Reader) *EventReader {
	return &EventReader{in: bufio.NewReaderSize(r, 16<<10)}
}

// First returns the first byte of the body that is not part of white space or a byte order mark. It
// consumes nothing else.
func (r *EventReader) First() (byte, error) {
	for {
		c, err := r.in.ReadByte()
		if err != nil {
			return 0, err
		}
		switch c {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
			continue
		}
		return c, r.in.UnreadByte()
	}
}

// Rest returns the unread part of the body.
func (r *EventReader) Rest() io.Reader { return r.in }

// Next returns the next event that has data. At the end it returns io.EOF or the read error.
func (r *EventReader) Next() (ServerEvent, error) {
	r.data, r.name, r.hasData, r.looks = r.data[:0], "", false, 0
	if r.held != nil {
		r.data, r.hasData = append(r.data, r.held...), true
		r.held = nil
	}
	for {
		line, err := r.readLine()
		if err != nil {
			if errors.Is(err, io.EOF) && len(line) > 0 {
				r.addLine(line)
			}
			if errors.Is(err, io.EOF) && r.hasData {
				return ServerEvent{r.name, r.data}, nil
			}
			return ServerEvent{}, err
		}
		if len(line) == 0 {
			if r.hasData {
				return ServerEvent{r.name, r.data}, nil
			}
			r.name = ""
			continue
		}
		if r.addLine(line) {
			return ServerEvent{r.name, r.data}, nil
		}
		if len(r.data) > maxEvent {
			return ServerEvent{}, ErrTooLong
		}
	}
}

// addLine adds a line to the current event. It returns true if the line belongs to the next event,
// which means that the current one is complete.
func (r *EventReader) addLine(line []byte) bool {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		r.name = string(value)
	case "error":
		r.name = "error"
		r.data, r.hasData = append(r.data[:0], value...), true
	case "data":
		if r.hasData && r.isComplete() {
			r.held = bytes.Clone(value)
			return true
		}
		if r.hasData {
			r.data = append(r.data, '\n')
		}
		r.data, r.hasData = append(r.data, value...), true
	}
	return false
}

// isComplete reports whether the data so far is a complete event. It checks only a few times, so
// that an event with very many lines remains cheap.
func (r *EventReader) isComplete() bool {
	r.looks++
	if r.looks > 8 {
		return false
	}
	return json.Valid(r.data) || string(bytes.TrimSpace(r.data)) == "[DONE]"
}

// readLine returns the next line without its line ending. If the stream ends within a line, it
// returns the incomplete line with io.EOF.
func (r *EventReader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		r.line = append(r.line, part...)
		if len(r.line) > maxEvent {
			return nil, ErrTooLong
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimRight(r.line, "\r\n"), err
	}
}
