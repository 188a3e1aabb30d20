package safehttp

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func sendBy(t *testing.T, transport *Transport, method, url, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer x")
	req.Header.Set("Accept-Encoding", "gzip")
	req.Host = "other.example.com"
	resp, err := NewStreamingClient(transport).Do(req)
	if err == nil {
		t.Cleanup(func() { _ = resp.Body.Close() })
	}
	return resp, err
}

func TestTransport_ChecksTheAddress(t *testing.T) {
	n := newInternet(t, map[string][]string{"a.example.com": {public}, "inside.example.com": {"10.0.0.1"}}, answerText("hi"))
	transport := &Transport{Client: n.newClient(Options{})}
	for url, want := range map[string]Kind{
		"http://a.example.com/x": 0, "https://a.example.com/x": 0, "http://inside.example.com/": Internal,
		"http://127.0.0.1/": Internal, "http://a.example.com:22/": Port, "ftp://a.example.com/": Scheme,
	} {
		if _, err := sendBy(t, transport, http.MethodPost, url, "body"); kindOf(err) != want || (want == 0) != (err == nil) {
			t.Errorf("%s: error %v, want kind %d", url, err, want)
		}
	}
	if len(n.heard) != 2 {
		t.Fatalf("%d requests arrived, want 2", len(n.heard))
	}
	for _, r := range n.heard {
		if h := r.Header; r.Host != "a.example.com" || h.Get("Authorization") != "Bearer x" || h.Get("Accept-Encoding") != "" || h.Get("User-Agent") != userAgent || r.ContentLength != 4 {
			t.Errorf("request for %s with %v and %d bytes", r.Host, h, r.ContentLength)
		}
	}
}

func TestTransport_FollowsNoRedirect(t *testing.T) {
	n := newInternet(t, map[string][]string{"a.example.com": {public}}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://b.example.com/", http.StatusFound)
	})
	resp, err := sendBy(t, &Transport{Client: n.newClient(Options{})}, http.MethodGet, "http://a.example.com/", "")
	if err != nil || resp.StatusCode != http.StatusFound || len(n.looked) != 1 {
		t.Errorf("got %v, %v after the lookups %q", resp, err, n.looked)
	}
}

func TestTransport_LimitsBodiesAndLines(t *testing.T) {
	n := newInternet(t, map[string][]string{"a.example.com": {public}}, answerText(strings.Repeat("12345678\n", 10)))
	c := n.newClient(Options{MaxBody: 50})
	for name, tc := range map[string]struct {
		transport Transport
		want      Kind
	}{
		"fits":                       {Transport{MaxBody: 90}, 0},
		"body too long":              {Transport{MaxBody: 89}, TooLarge},
		"endless body, short lines":  {Transport{MaxLine: 9}, 0},
		"line too long":              {Transport{MaxLine: 8}, TooLarge},
		"lines fit, body too long":   {Transport{MaxLine: 9, MaxBody: 89}, TooLarge},
		"limit of the client's body": {Transport{}, TooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			tc.transport.Client = c
			resp, err := sendBy(t, &tc.transport, http.MethodGet, "http://a.example.com/", "")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(resp.Body); kindOf(err) != tc.want || (tc.want == 0) != (err == nil) {
				t.Errorf("reading failed with %v, want kind %d", err, tc.want)
			}
		})
	}
}

func TestTransport_ReadsEventsWhileTheyArrive(t *testing.T) {
	received := make(chan struct{})
	n := newInternet(t, map[string][]string{"a.example.com": {public}}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: 1\n")
		w.(http.Flusher).Flush()
		select {
		case <-received:
			_, _ = io.WriteString(w, "data: 2\n")
		case <-r.Context().Done():
		}
	})
	resp, err := sendBy(t, &Transport{Client: n.newClient(Options{}), MaxLine: 100, Wait: time.Minute}, http.MethodGet, "http://a.example.com/", "")
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(resp.Body)
	if !in.Scan() || in.Text() != "data: 1" {
		t.Fatalf("first line %q, %v", in.Text(), in.Err())
	}
	close(received)
	if !in.Scan() || in.Text() != "data: 2" {
		t.Fatalf("second line %q, %v", in.Text(), in.Err())
	}
}
