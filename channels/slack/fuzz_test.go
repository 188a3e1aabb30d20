package slack

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/slack-go/slack/slackevents"
)

const hobUser = "U0HOB"

func FuzzPlain(f *testing.F) {
	for _, s := range []string{"", "hi <@U0HOB>, look", "<https://a.example|b> <mailto:a@b|a@b> <!here> <!subteam^S1|@x> <!date^1^{date}|today> <#C1|x>", "<<@U0HOB>", "&amp;lt; <", "<@U0HOB|hob>:<@U0HOB>", "a <> b <|> <@> <#> <!>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out, mentioned := plainText(s, hobUser, func(string) string { return "" })
		if mentioned && !strings.Contains(s, "<@"+hobUser) {
			t.Errorf("%q counts as a mention of Hob", s)
		}
		if utf8.ValidString(s) && !utf8.ValidString(out) {
			t.Errorf("%q becomes %q", s, out)
		}
		if back, _ := plainText(escapeText(s), hobUser, func(string) string { return "" }); back != strings.TrimSpace(s) {
			t.Errorf("%q became %q", s, back)
		}
	})
}

func FuzzEnvelopes(f *testing.F) {
	for _, s := range []string{
		`{"team_id":"T1","event":{"type":"message","channel":"D1","channel_type":"im","user":"U1","text":"hi","ts":"1700000000.000100"}}`,
		`{"type":"block_actions","user":{"id":"U1","team_id":"T1"},"channel":{"id":"C1"},"message":{"ts":"1.1","blocks":[{"type":"actions"}]},"actions":[{"action_id":"hob.yes","value":"q"}]}`,
		`{"team_id":"T1","channel_id":"C1","user_id":"U1","text":"x","trigger_id":"1.2"}`, `null`, `[]`, `{"event":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if m, ok := parseEvent(raw); ok && m.isUserMessage(hobUser) {
			if !isID(m.Channel) || !isID(m.User) || !isTS(m.TS) || m.User == hobUser || m.Bot != "" {
				t.Errorf("received %+v", m)
			}
			_ = ts0(m.TS)
		}
		if a, ok := parseAction(raw); ok && (!isID(a.User.ID) || !isTS(a.Message.TS)) {
			t.Errorf("pressed %+v", a)
		}
		_, _ = parseCommand(raw)
	})
}

func FuzzCut(f *testing.F) {
	f.Add(strings.Repeat("a &amp; b <https://x|y>\n", 20), 50)
	f.Add(strings.Repeat("&lt;", 100), 33)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 20 || limit > 4000 || !utf8.ValidString(s) {
			t.Skip()
		}
		for _, part := range splitAtLines(s, limit) {
			if utf8.RuneCountInString(part) > limit || !utf8.ValidString(part) {
				t.Errorf("part of %d characters", utf8.RuneCountInString(part))
			}
		}
	})
}

// TestEvents_ParseLikeSlackGo checks that slack-go parses the events of these tests as this package does.
func TestEvents_ParseLikeSlackGo(t *testing.T) {
	raw := []byte(`{"token":"x","team_id":"T1","type":"event_callback","event_id":"Ev1","event":{"type":"message","subtype":"thread_broadcast","channel":"C1","channel_type":"channel","user":"U1","text":"hi",
		"ts":"1700000000.000100","thread_ts":"1600000000.000001","parent_user_id":"U2","user_team":"T2","source_team":"T2"}}`)
	e, err := slackevents.ParseEvent(json.RawMessage(raw), slackevents.OptionNoVerifyToken())
	if err != nil {
		t.Fatal(err)
	}
	theirs, ok := e.InnerEvent.Data.(*slackevents.MessageEvent)
	ours, ok2 := parseEvent(raw)
	if !ok || !ok2 {
		t.Fatal("the message was not parsed")
	}
	type what struct{ channel, kind, user, text, ts, thread, subtype, userTeam, sourceTeam string }
	a := what{theirs.Channel, theirs.ChannelType, theirs.User, theirs.Text, theirs.TimeStamp, theirs.ThreadTimeStamp, theirs.SubType, theirs.UserTeam, theirs.SourceTeam}
	b := what{ours.Channel, ours.Kind, ours.User, ours.Text, ours.TS, ours.ThreadTS, ours.Subtype, ours.UserTeam, ours.SourceTeam}
	if a != b {
		t.Errorf("slack-go parses %+v, this package %+v", a, b)
	}
}
