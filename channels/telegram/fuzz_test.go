package telegram

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzUpdate reads arbitrary updates.
func FuzzUpdate(f *testing.F) {
	for _, s := range []string{
		`{"update_id":1,"message":{"message_id":2,"from":{"id":3},"chat":{"id":4,"type":"group"},"text":"👋 @hob x","entities":[{"type":"mention","offset":3,"length":4}]}}`,
		`{"update_id":1,"message":{"from":{"id":3},"chat":{"id":4},"text":"/a@hob","entities":[{"type":"bot_command","offset":0,"length":6},{"type":"mention","offset":0,"length":1}]}}`,
		`{"update_id":1,"message":{"from":{"id":3},"chat":{"id":4},"caption":"a","caption_entities":[{"type":"text_link","offset":0,"length":1,"url":"http://x"}],"forward_origin":{"type":"user","sender_user":{"id":2,"first_name":"B"}},"reply_to_message":{"text":"b","contact":{"first_name":"c"}}}}`,
		`{"update_id":1,"callback_query":{"data":"y:"}}`,
		`{"update_id":9,"message":{"photo":[{}],"poll":{"options":[{}]},"reply_to_message":{"reply_to_message":null}}}`,
		`{"update_id":9,"message":{"from":{"id":1},"chat":{"id":-1},"text":"\ud83d","entities":[{"type":"text_mention","user":{"id":5},"offset":0,"length":1}],"forward_origin":7}}`,
	} {
		f.Add(s)
	}
	c := &Channel{me: user{ID: 5, Username: "hob"}}
	f.Fuzz(func(t *testing.T, s string) {
		var u update
		if json.Unmarshal([]byte(s), &u) != nil || u.Message == nil {
			return
		}
		first := *u.Message
		c.rememberTaken(&first)
		if in, ok := c.parseCorrection(u.Message); ok {
			t.Errorf("an unchanged message is received as a correction: %+v", in)
		}
		was := u.Message.textChecksum()
		u.Message.Text += "."
		if in, ok := c.parseCorrection(u.Message); ok && (!strings.HasPrefix(in.Text, edited) || in.Key == first.messageKey()) {
			t.Errorf("correction = %+v", in)
		}
		if one := mergeEdits([]update{{Message: &first}, {Edited: u.Message}}); one[1].Edited != nil || one[0].Message.changed != (was != u.Message.textChecksum()) {
			t.Errorf("the merged update lacks the correction: %+v", one[0].Message)
		}
		u.Message.changed = false
		if u.Message.ReplyTo != nil {
			u.Message.rest = []*message{u.Message.ReplyTo}
		}
		in, ok := c.toInbound(u.Message)
		if !ok {
			return
		}
		if in.Sender == "" || in.Chat == "" || in.Key == "" || !utf8.ValidString(in.Text) {
			t.Errorf("received %+v", in)
		}
		if in.Text == "" && len(in.Files) == 0 && strings.TrimSpace(u.Message.Text+u.Message.Caption) != "" {
			t.Errorf("the text is lost: %q", u.Message.Text)
		}
	})
}
