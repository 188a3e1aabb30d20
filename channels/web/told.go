package web

import (
	"encoding/json"
	"errors"
	"strings"

	"hob/autonomy/api"
)

func (f *follower) emitText(t string) error {
	f.all.WriteString(t)
	f.part.WriteString(t)
	return f.emitEvent("content_delta", struct {
		Text string `json:"text"`
	}{t})
}

func (f *follower) callStart(data json.RawMessage) error {
	var c struct{ ID, Name string }
	_ = json.Unmarshal(data, &c)
	f.calls = append(f.calls, openCall{c.ID, c.Name})
	f.part.Reset()
	return f.emitEvent("tool_call_start", data)
}

// callEnd ends a tool call. It adds the start event if the feed dropped it. A call that the engine
// renamed is ended under its original id.
func (f *follower) callEnd(data json.RawMessage) error {
	var c struct{ ID, Name string }
	_ = json.Unmarshal(data, &c)
	f.part.Reset()
	at := -1
	for i, o := range f.calls {
		if o.id == c.ID {
			at = i
			break
		}
	}
	var out any = data
	switch {
	case at >= 0:
	case len(f.calls) > 0:
		at = 0
		out = mergeJSONFields(data, map[string]any{"id": f.calls[0].id, "call": c.ID})
	default:
		if err := f.emitEvent("tool_call_start", map[string]string{"id": c.ID, "name": c.Name}); err != nil {
			return err
		}
	}
	if at >= 0 {
		f.calls = append(f.calls[:at], f.calls[at+1:]...)
	}
	return f.emitEvent("tool_result", out)
}

// emitApproval sends each approval request to the client once.
func (f *follower) emitApproval(data json.RawMessage) error {
	var a struct{ ID string }
	_ = json.Unmarshal(data, &a)
	if f.asked[a.ID] {
		return nil
	}
	f.asked[a.ID] = true
	return f.emitDisplayed(api.Display{Approvals: []string{a.ID}}, func() error {
		if err := f.emitEvent("approval_required", data); err != nil {
			return err
		}
		return f.flushSink()
	})
}

// emitDisplayed sends an approval request to the client and records that this client displays it.
func (f *follower) emitDisplayed(d api.Display, emit func() error) error {
	if f.mark == nil {
		return emit()
	}
	if err := f.mark(d); err != nil {
		return err
	}
	err := emit()
	if err == nil {
		return nil
	}
	d.Withdrawn = true
	return errors.Join(err, f.mark(d))
}

func (f *follower) flushSink() error {
	if err := f.sink.flushEvents(); err != nil {
		return errGone
	}
	return nil
}

// finishStream sends the missing events and ends the stream.
func (f *follower) finishStream(st api.EventStatus) error {
	for _, c := range f.calls { // tool results that the feed dropped
		d := map[string]any{"id": c.id, "name": c.name, "ok": false, "text": "the result is in message_end"}
		if err := f.emitEvent("tool_result", d); err != nil {
			return err
		}
	}
	missing, replaced := f.missingText(st.Answer)
	if missing != "" {
		if err := f.emitText(missing); err != nil {
			return err
		}
	}
	reason := "end_turn"
	var end struct{ Interrupted bool }
	_ = json.Unmarshal(f.last, &end)
	switch {
	case end.Interrupted:
		reason = "cancelled"
	case f.failed:
		reason = "error"
	}
	fields := map[string]any{
		"event": st.ID, "session": st.Session, "answer": st.Answer, "tools": st.Tools, "usage": st.Usage, "finish_reason": reason,
	}
	if replaced {
		fields["replaced"] = true
	}
	return f.emitDisplayed(api.Display{Event: st.ID}, func() error {
		if err := f.emitEvent("message_end", mergeJSONFields(f.last, fields)); err != nil {
			return err
		}
		return f.flushSink()
	})
}

// missingText compares the streamed text with the answer. It returns the missing end of the answer.
// replaced reports that the answer differs in another way, because of a correction or text lost in
// the middle.
func (f *follower) missingText(answer string) (tail string, replaced bool) {
	all, part := f.all.String(), f.part.String()
	switch {
	case strings.HasSuffix(all, answer):
		return "", false
	case strings.HasPrefix(answer, all):
		return answer[len(all):], false
	case strings.HasPrefix(answer, part) && part != "":
		return answer[len(part):], false
	case part == "": // the last text was after a tool call, and the feed dropped all of it
		return answer, false
	}
	return "", true
}
