package discordtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"hob/channels"
)

// Say implements channelstest.Speaker.
func (w *Server) Say(_ context.Context, chat, sender, text string, group bool) bool {
	w.Lock()
	ever := w.Ever
	w.Unlock()
	if !ever {
		return false
	}
	if group {
		w.Person(chat, sender, "<@"+BotID+"> "+text, true, Object{"mentions": []Object{{"id": BotID, "username": "hob"}}})
	} else {
		w.Person(chat, sender, text, false, nil)
	}
	return true
}

// Again implements channelstest.Repeater.
func (w *Server) Again(context.Context) bool {
	w.Lock()
	defer w.Unlock()
	if w.Live == nil {
		return false
	}
	w.Dispatch("MESSAGE_CREATE", w.saidLast)
	return true
}

// Reopen implements channelstest.Reopener.
func (w *Server) Reopen(*testing.T) channels.Channel { return w.Open() }

// Arrived implements channelstest.Platform.
func (w *Server) Arrived() []string {
	w.Lock()
	defer w.Unlock()
	var out []string
	for _, m := range w.Posts {
		out = append(out, shownText(fmt.Sprint(m["content"])))
	}
	return out
}

// shownText returns s as a person sees it, without the escape characters of the markup. It handles
// only the markup that the tests need.
func shownText(s string) string {
	return regexp.MustCompile(`\\([[:punct:]])`).ReplaceAllString(s, "$1")
}

// Typed implements channelstest.Sign.
func (w *Server) Typed() int {
	w.Lock()
	defer w.Unlock()
	return w.typed
}

// Previewed implements channelstest.Previewer.
func (w *Server) Previewed() int {
	w.Lock()
	defer w.Unlock()
	n := 0
	for _, m := range w.Posts {
		if flags, _ := m["flags"].(float64); int(flags)&4 == 0 {
			n += strings.Count(fmt.Sprint(m["content"]), "https://")
		}
	}
	return n
}

// Rendered implements channelstest.Renderer. It lists the mentions that allowed_mentions permits,
// or all mentions if that field is missing.
func (w *Server) Rendered() []string {
	w.Lock()
	defer w.Unlock()
	var out []string
	for _, m := range w.Posts {
		allowed, ok := m["allowed_mentions"].(Object)
		parse, is := allowed["parse"].([]any)
		if !ok || !is || len(parse) > 0 || allowed["users"] != nil || allowed["roles"] != nil || allowed["replied_user"] == true {
			out = append(out, "mention")
		}
		for _, link := range regexp.MustCompile(`(^|[^\\])\]\(\s*(\w+):`).FindAllStringSubmatch(fmt.Sprint(m["content"]), -1) {
			if link[2] != "http" && link[2] != "https" {
				out = append(out, "link "+link[2])
			}
		}
	}
	return out
}

// Secrets implements channelstest.Secrets.
func (*Server) Secrets() []string { return []string{Token, Secret} }

// AnswerWith returns a response for Fails.
func AnswerWith(code int, body string, header ...string) func(http.ResponseWriter) {
	return func(rw http.ResponseWriter) {
		for i := 0; i+1 < len(header); i += 2 {
			rw.Header().Set(header[i], header[i+1])
		}
		rw.WriteHeader(code)
		_, _ = io.WriteString(rw, body)
	}
}

// Fail implements channelstest.Platform. Its error text contains the token, unlike the errors of
// the real Discord.
func (w *Server) Fail(class channels.Class, n int) bool {
	f := map[channels.Class]func(http.ResponseWriter){
		channels.Temporary:    AnswerWith(502, "<html>bad gateway "+Token),
		channels.Later:        AnswerWith(429, `{"message":"You are being rate limited. `+Token+`","retry_after":0.05,"global":false}`),
		channels.Permanent:    AnswerWith(400, `{"message":"Cannot send an empty message `+Token+`","code":50006}`),
		channels.Unauthorized: AnswerWith(401, `{"message":"401: Unauthorized `+Token+`","code":0}`),
	}[class]
	w.Lock()
	defer w.Unlock()
	for range n {
		w.Fails = append(w.Fails, f)
	}
	return f != nil
}
