package a11y

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"hob/platform/host/desktop/window"
	"hob/platform/host/osrun"
)

// windowsOf is a fake runner for PowerShell scripts that returns a fixed answer.
type windowsOf struct {
	answer string
	err    error
	got    osrun.Call
}

func (w *windowsOf) Run(_ context.Context, c osrun.Call, out any) error {
	w.got = c
	if w.err != nil || out == nil {
		return w.err
	}
	return json.Unmarshal([]byte(w.answer), out)
}

func TestMeant(t *testing.T) {
	list := []window.Window{
		{ID: 1, Title: "Letter - Word", App: "winword", Active: true},
		{ID: 2, Title: "", App: "explorer"},
		{ID: 3, Title: "Inbox - Outlook", App: "outlook"},
		{ID: 4, Title: "word of the day", App: "msedge", Notice: true},
	}
	for words, want := range map[string]string{"": "1", " WORD ": "1", "outlook": "3", "explorer": "", "nothing": ""} {
		var got []string
		for _, w := range matchWindows(list, words) {
			got = append(got, string(rune('0'+w.ID)))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q means %q, want %q", words, s, want)
		}
	}
}

func TestUIA(t *testing.T) {
	frames := []window.Window{{ID: 4711, Title: "letter", App: "notepad", PID: 9}}
	w := &windowsOf{answer: `{"list":[
		{"window":0,"path":"4711:42-1","depth":0,"role":"window","name":"letter","text":"","does":"","takes":false,"secret":false},
		{"window":0,"path":"4711.0:42-2","depth":1,"role":"edit","name":"Text","text":"Dear","does":"","takes":true,"secret":false},
		{"window":0,"path":"4711.1:42-3","depth":1,"role":"edit","name":"PIN","text":"1234","does":"","takes":true,"secret":true},
		{"window":7,"path":"1:1","depth":0,"role":"window","name":"none of ours","text":"","does":"","takes":false,"secret":false}],"more":true,"gone":0}`}
	list, more, err := uiaRead(t.Context(), w, frames)
	if err != nil || !more || len(list) != 3 {
		t.Fatalf("uiaRead = %+v %v %v", list, more, err)
	}
	if n := list[1]; n.PID != 9 || n.App != "notepad" || n.Window != "letter" || n.Text != "Dear" || !n.Takes {
		t.Errorf("%+v", n)
	}
	if n := list[2]; n.Text != "" || n.Takes || !n.Secret {
		t.Errorf("password was returned: %+v", n)
	}
	in, err := osrun.ASCII(w.got.In)
	if want := `{"words":"","windows":[4711],"nodes":400,"depth":25,"kids":200,"text":500,"millis":10000}`; err != nil || string(in) != want {
		t.Errorf("input of the script = %s, want %s", in, want)
	}
	text := "x"
	if err := uiaAct(t.Context(), w, list[1], &text); err != nil || !w.got.Write {
		t.Error(err)
	}
	in, err = osrun.ASCII(w.got.In)
	if want := `{"pid":9,"window":"letter","path":"4711.0:42-2","role":"edit","name":"Text","does":"","fill":true,"text":"x"}`; err != nil || string(in) != want {
		t.Errorf("input of the script = %s, want %s", in, want)
	}
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"it changed":                      {&osrun.Error{Kind: osrun.Changed}, ErrGone},
		"nothing was done":                {&osrun.Error{Kind: osrun.PolicyBlocked}, ErrNot},
		"nobody knows whether it was":     {&osrun.Error{Kind: osrun.Timeout, Unknown: true}, context.DeadlineExceeded},
		"nobody knows, and it is no more": {&osrun.Error{Kind: osrun.Internal, Unknown: true, Err: os.ErrClosed}, os.ErrClosed},
	} {
		w.err = c.err
		if err := uiaAct(t.Context(), w, list[1], nil); !errors.Is(err, c.want) || osrun.IsUncertain(c.err) && errors.Is(err, ErrNot) {
			t.Errorf("%s: uiaAct = %v", name, err)
		}
	}
	w.err, w.answer = nil, `{"list":[],"more":false,"gone":1}`
	if _, _, err := uiaRead(t.Context(), w, frames); !errors.Is(err, ErrGone) {
		t.Errorf("read of a closed window = %v", err)
	}
}
