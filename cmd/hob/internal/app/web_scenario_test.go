package app

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"hob/platform/net/safehttp/safehttptest"
)

// webOf simulates the web for a scenario. A section web/HOST/PATH is the content at that address;
// the extension determines the media type. A section that begins with "HTTP/1.1 " is a complete
// response with headers. If several sections have the same name, each of them is returned once, and
// the last one from then on. Other addresses return 404. In the section dns, "NAME: 1.2.3.4
// 5.6.7.8, 10.0.0.1" lists the addresses of a name for the first lookup and for later lookups; all
// other names have one public address.
func webOf(t *testing.T, a *txtar.Archive) *safehttptest.Internet {
	t.Helper()
	var mu sync.Mutex
	pages := map[string][]string{}
	for _, f := range a.Files {
		if at, ok := strings.CutPrefix(f.Name, "web/"); ok {
			pages[at] = append(pages[at], string(f.Data))
		}
	}
	n := safehttptest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		answers, ok := pages[r.Host+r.URL.Path]
		text := ""
		if ok {
			text = answers[0]
		}
		if len(answers) > 1 { // the next answer is different
			pages[r.Host+r.URL.Path] = answers[1:]
		}
		mu.Unlock()
		switch {
		case !ok:
			http.NotFound(w, r)
		case strings.HasPrefix(text, "HTTP/1.1 "):
			answerWith(w, r, text)
		default:
			kind := map[string]string{".json": "application/json", ".xml": "application/rss+xml", ".txt": "text/plain"}[path.Ext(r.URL.Path)]
			if kind == "" {
				kind = "text/html; charset=utf-8"
			}
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, text)
		}
	}))
	for line := range strings.Lines(readSection(a, "dns")) {
		name, answers, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok {
			n.Name(name, strings.Split(answers, ",")...)
		}
	}
	return n
}

// answerWith sends the response that text contains.
func answerWith(w http.ResponseWriter, r *http.Request, text string) {
	head, body, _ := strings.Cut(text, "\n\n")
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(strings.ReplaceAll(head, "\n", "\r\n")+"\r\n\r\n")), r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	_, _ = io.WriteString(w, body)
}

// checkVisited compares the web requests with a pattern, and checks that they contain no data of the
// owner.
func (s *scenarioRun) checkVisited(pattern string) {
	s.t.Helper()
	var all []string
	for _, r := range s.net.Heard() {
		scheme := "http://"
		if r.TLS != nil {
			scheme = "https://"
		}
		if head := fmt.Sprint(r.Header, r.URL); strings.Contains(head, s.token) || r.Header.Get("Authorization")+r.Header.Get("Cookie")+r.Header.Get("Referer") != "" {
			s.t.Errorf("the request contains Hob's credentials: %s", head)
		}
		all = append(all, fmt.Sprint(r.Method, " ", scheme, r.Host, r.URL))
	}
	if got := strings.Join(all, " "); !regexp.MustCompile("^(?:" + pattern + ")$").MatchString(got) {
		s.t.Errorf("requested addresses = %q", got)
	}
}
