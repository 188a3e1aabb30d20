package autonomy_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy"
	"hob/autonomy/llm/llmtest"
	"hob/channels"
	"hob/platform/provenance"
	"hob/tools"
)

// The live feed shows when a tool actually starts and its reported progress.
func TestProgress_FeedShowsToolProgress(t *testing.T) {
	slow := tools.New(tools.Def[textArgs]{
		Spec: tools.Spec{Name: "crawl", Category: "test", Description: "Crawl.", Effects: tools.Read, Core: true},
		Run: func(_ context.Context, c tools.Call, _ textArgs) (tools.Result, error) {
			c.Progress(0.25, "page 1 of 4")
			return tools.Result{Source: provenance.Tool, Text: "crawled"}, nil
		},
	})
	m := scriptedModel(callsAnswer(newCall("crawl", `{"text":"x"}`)), llmtest.Answer{Text: "done"})
	e := startEngine(t, setup{model: m, tools: []tools.Tool{slow}})
	sub := e.bus.Feed.Subscribe(0)
	defer sub.Close()
	e.askHob("s", "crawl it")
	var got []string
	for ev := range sub.C() {
		if ev.Type == "message_end" {
			break
		}
		if strings.HasPrefix(ev.Type, "tool_") && ev.Type != "tool_call_delta" {
			_, data, _ := strings.Cut(string(ev.Data), `"name":"crawl"`)
			got = append(got, ev.Type+" "+data)
		}
	}
	want := []string{"tool_call_start }", "tool_start }", `tool_progress ,"note":"page 1 of 4","percent":25,"seconds":0}`, `tool_result ,"ok":true,"text":"crawled"}`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// chatSigns shows work in progress in chats; both functions are optional.
type chatSigns struct {
	typing func(channel, chat string) (stop func())
	show   func(channel string) channels.LiveDraft
}

func (c chatSigns) Typing(_ context.Context, channel, chat string) func() {
	if c.typing == nil {
		return func() {}
	}
	return c.typing(channel, chat)
}

func (c chatSigns) Show(_ context.Context, _, channel, _ string) channels.LiveDraft {
	if c.show == nil {
		return nil
	}
	return c.show(channel)
}

// The typing sign is shown in the chat of a turn while the turn runs, and in no other chat.
func TestProgress_ChatOfTheTurnShowsTyping(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	note := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, s)
	}
	m := modelFrom(func(llmtest.Request) llmtest.Answer {
		note("asked")
		return llmtest.Answer{Text: "hello to you"}
	})
	e := startEngine(t, setup{model: m, change: func(o *autonomy.Options) {
		o.Chats = chatSigns{typing: func(channel, chat string) func() {
			note("begin " + channel + " " + chat)
			return func() { note("end " + channel + " " + chat) }
		}}
	}})
	e.awaitSettled(e.putFrom("web", "42", "hello"))
	e.awaitSettled(e.putFrom("web", "42", "/help"))
	if d := cmp.Diff([]string{"begin web 42", "asked", "end web 42"}, seen); d != "" {
		t.Error(d)
	}
}

// putFrom sends a message of the owner from a chat.
func (e *engine) putFrom(channel, chat, text string) string {
	e.t.Helper()
	acc, err := e.intake.Receive(e.t.Context(), channels.Inbound{Channel: channel, Chat: chat, FromOwner: true, Text: text})
	failOnError(e.t, err)
	return acc.Event
}
