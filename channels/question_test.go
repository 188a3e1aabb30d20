package channels

import (
	"strings"
	"testing"
)

// A question that is too long for one message is split into several messages without loss, and the
// last one explains how to answer.
func TestReview6_LongQuestionIsSplitWithoutLoss(t *testing.T) {
	text := "May I do this? Write build.sh\n  exactly: write_file " + strings.Repeat("echo `fine`; ", 250) + "rm -rf ~/thesis; " + strings.Repeat("x", 5000) + " 😀😀\n  reply yes or no, or: hob approve 1a2b3c4d"
	for _, lim := range []Limits{{MaxText: 2000}, {MaxText: 4096, UTF16: true}, {MaxText: 300}, {}} {
		parts := splitQuestion(text, lim)
		if got := strings.ReplaceAll(strings.Join(parts, ""), "\n", ""); got != strings.ReplaceAll(text, "\n", "") {
			t.Errorf("%+v: the joined parts differ from the text", lim)
		}
		for i, p := range parts {
			if n := Length(p, lim); lim.MaxText > 0 && n > lim.MaxText/2 {
				t.Errorf("%+v: part %d has %d characters", lim, i, n)
			}
			if last := i == len(parts)-1; strings.Contains(p, "1a2b3c4d") != last {
				t.Errorf("%+v: part %d of %d contains the id: %v", lim, i+1, len(parts), !last)
			}
		}
	}
}

// The platform's formatting hides no part of a model's text.
func TestReview6_QuestionIsShownWithoutFormatting(t *testing.T) {
	d := Delivery{Kind: Question, Text: "exactly: run [ls](http://evil.example) ||rm -rf||"}
	if got := d.Markdown(); strings.Contains(got, "[ls](") || strings.Contains(got, "||rm") {
		t.Errorf("Markdown() = %q", got)
	}
	d.Kind = Reply
	if got := d.Markdown(); got != d.Text {
		t.Errorf("Markdown() of a reply = %q", got)
	}
}
