package app

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTalk runs the conversations of testdata/talk.txt with the built-in brain. A line "> TEXT" is
// a message, "= REGEXP" matches its answer, and "! REGEXP" does not.
func TestTalk(t *testing.T) {
	raw, err := os.ReadFile("testdata/talk.txt")
	failOnError(t, err)
	for block := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n\n") {
		name, rest, _ := strings.Cut(block, "\n")
		t.Run(strings.TrimPrefix(name, "# "), func(t *testing.T) {
			t.Parallel()
			h := openOffline(t)
			said, answer := "", ""
			for line := range strings.SplitSeq(rest, "\n") {
				mark, text, _ := strings.Cut(line, " ")
				switch mark {
				case ">":
					said, answer = text, talkTo(t, h, text)
				case "=", "!":
					if regexp.MustCompile(text).MatchString(answer) != (mark == "=") {
						t.Errorf("%q: the answer %q, want %s %s", said, answer, mark, text)
					}
				default:
					t.Fatalf("unknown line %q", line)
				}
			}
		})
	}
}

func talkTo(t *testing.T, h *daemonFixture, text string) string {
	t.Helper()
	code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/main/messages", map[string]string{"text": text})
	var r struct {
		Answer    string
		Approvals []struct{ Summary string }
	}
	if code/100 != 2 || json.Unmarshal(body, &r) != nil {
		t.Fatalf("%q: %d %s", text, code, body)
	}
	for _, a := range r.Approvals {
		r.Answer += a.Summary + "?"
	}
	return r.Answer
}
