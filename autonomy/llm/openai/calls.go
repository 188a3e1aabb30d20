package openai

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strings"

	"hob/autonomy/llm"
)

// call is a tool call that is being assembled.
type call struct {
	llm.PendingCall
	index int  // the server's number for the call, or -1 if there is none
	whole bool // whether the arguments came as one object, so that no further piece can follow
}

// calls assembles tool calls from their deltas. In the specification, the index identifies a call,
// and the first delta contains its id and name. Real servers differ. The index may be missing or
// always 0. Ids may be missing, repeated in each delta, new in each delta, or equal for all calls.
// One chunk may contain several complete calls.
type calls struct {
	list []*call
}

// addDelta processes one delta. It returns the call, the piece of arguments in the delta, and
// whether the call is new. It returns nil for an empty delta.
func (c *calls) addDelta(d callDelta) (x *call, piece string, fresh bool) {
	id, name := llm.JSONText(d.ID), d.Function.Name.text
	piece, whole := d.Function.argumentText()
	if id == "" && name == "" && piece == "" {
		return nil, "", false
	}
	x = c.findCall(d.Index, id, name, piece, whole)
	if x == nil {
		x, fresh = &call{index: -1}, true
		if d.Index != nil {
			x.index = *d.Index
		}
		x.ID = c.uniqueID(id)
		c.list = append(c.list, x)
	}
	if x.Name == "" {
		x.Name = name
	}
	x.Args = append(x.Args, piece...)
	x.whole = x.whole || whole
	return x, piece, fresh
}

// findCall returns the call that a delta continues, or nil if the delta starts a new call.
func (c *calls) findCall(index *int, id, name, piece string, whole bool) *call {
	var x *call
	switch {
	case index != nil:
		x = c.lastWhere(func(x *call) bool { return x.index == *index })
	case id != "" && name == "":
		x = c.lastWhere(func(x *call) bool { return x.ID == id })
		if x == nil { // the server sends a new id in each delta
			x = c.lastWhere(func(*call) bool { return true })
		}
	default:
		x = c.lastWhere(func(*call) bool { return true })
	}
	if x == nil || name == "" {
		return x
	}
	// A name starts a call, unless the name is only repeated.
	again := name == x.Name && (id == "" || id == x.ID) && !whole && !x.whole
	if again && strings.HasPrefix(piece, "{") && bytes.HasSuffix(x.Args, []byte("}")) && json.Valid(x.Args) {
		again = false
	}
	if again || x.Name == "" {
		return x
	}
	return nil
}

func (c *calls) lastWhere(is func(*call) bool) *call {
	for i := len(c.list) - 1; i >= 0; i-- {
		if is(c.list[i]) {
			return c.list[i]
		}
	}
	return nil
}

// uniqueID returns the server's id, or a new one if that id is missing or already used.
func (c *calls) uniqueID(id string) string {
	if id == "" || c.lastWhere(func(x *call) bool { return x.ID == id }) != nil {
		return newID()
	}
	return id
}

// newID returns an id of nine letters and digits, the only form that Mistral's models accept.
func newID() string {
	return rand.Text()[:9]
}

// pendingCalls returns the calls so far.
func (c *calls) pendingCalls() []llm.PendingCall {
	var out []llm.PendingCall
	for _, x := range c.list {
		out = append(out, x.PendingCall)
	}
	return out
}
