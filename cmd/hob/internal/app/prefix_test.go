package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"hob/autonomy/llm/llmtest"
)

// Each request starts with the bytes of the previous one until the conversation is restarted or
// summarized, regardless of messages, tool calls, memories, edited files and restarts.
func TestRequests_ArePrefixesOfTheNext(t *testing.T) {
	for i, p := range listPlayWays() {
		if p.whole {
			continue
		}
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(7, uint64(i)))
			home := t.TempDir()
			for name, text := range map[string]string{"proj/AGENTS.md": "Indent with tabs.\n", "proj/a.go": "package a\n", "b.txt": "<b> & \"c\" \u2028 é\n"} {
				failOnError(t, os.MkdirAll(filepath.Dir(filepath.Join(home, "Documents", name)), 0o700))
				failOnError(t, os.WriteFile(filepath.Join(home, "Documents", name), []byte(text), 0o600))
			}
			model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Reply: answerByMessage})
			h := openScripted(t, home, model.URL, p, aloneConfig)
			for n := range 40 {
				switch r.IntN(8) {
				case 0:
					failOnError(t, os.WriteFile(filepath.Join(home, "hob", "USER.md"), []byte(fmt.Sprintf("Version %d.\n", n)), 0o600))
				case 1:
					h.stop()
					h = openScripted(t, home, model.URL, p, aloneConfig)
				}
				h.askHob(sayings[r.IntN(len(sayings))])
			}
			checkPrefixes(t, p.api, model.Requests())
		})
	}
}

var sayings = []string{
	"hello", "use remember {\"text\":\"my sister's birthday is on 3 May\"}", "when is my sister's birthday?", "use list_tasks {}",
	"use create_task {\"title\":\"call <Ada> & \\\"Bob\\\" \u2028\"}", "use read_file {\"path\":\"~/Documents/b.txt\"}",
	"use read_file {\"path\":\"nothing\"}", "look at ~/Documents/proj/a.go", "Always answer in metric units.", "Never answer in metric units!",
	"Call me Ada. I like tea.", "shall we have tea?", "no, I meant coffee", "use no_such_tool {}", "Grüße aus <Köln> & \u2028 \U0001F600",
}

var wanted = regexp.MustCompile(`(?s)use (\w+) (\{.*\})$`)

// answerByMessage returns the tool call that the message names, and text for other requests.
func answerByMessage(r llmtest.Request) (llmtest.Answer, bool) {
	if m := wanted.FindStringSubmatch(r.LastUser); m != nil && r.Round == 0 {
		return llmtest.Answer{Calls: []llmtest.Call{{Name: m[1], Args: m[2]}}}, true
	}
	return llmtest.Answer{Text: "Well, <that> & \"this\" it is. \u2028"}, true
}

// cacheMarks matches cache marks, which move with the end of the request and are not content.
var cacheMarks = regexp.MustCompile(`,"cache_control":\{[^}]*\}`)

func checkPrefixes(t *testing.T, api llmtest.API, all []llmtest.Request) {
	t.Helper()
	var before []byte
	for i, r := range all {
		now := cacheMarks.ReplaceAll(r.Body, nil)
		head := messagesIn(t, api, now)
		stable := stableParts(t, api, now)
		head = append(append(append([]byte{}, stable["tools"]...), stable["system"]...), head...)
		if !bytes.HasPrefix(head, before) {
			t.Fatalf("request %d does not start with the previous one:\n%s\n%s", i+1, before, head)
		}
		before = head
	}
	if len(all) < 40 {
		t.Errorf("only %d requests", len(all))
	}
}

// messagesIn returns the array of messages as it was sent, without the closing bracket.
func messagesIn(t *testing.T, api llmtest.API, body []byte) []byte {
	t.Helper()
	var r struct {
		Messages json.RawMessage `json:"messages"`
		Contents json.RawMessage `json:"contents"`
	}
	failOnError(t, json.Unmarshal(body, &r))
	if api == llmtest.Gemini {
		r.Messages = r.Contents
	}
	return bytes.TrimSuffix(r.Messages, []byte("]"))
}

// aloneConfig disables model requests outside of turns, because the test compares all requests of
// the model.
const aloneConfig = "[knowledge]\nextraction = \"rules\"\n"
