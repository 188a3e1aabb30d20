package telegram_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/telegram"
	"hob/channels/telegram/telegramtest"
	"hob/platform/net/safehttp"
)

// serveResults returns a client for a server that responds with the result of the function.
func serveResults(t *testing.T, result func(method string, body []byte) string) *safehttp.Client {
	t.Helper()
	network, err := safehttp.New(safehttp.Options{Dial: func(context.Context, netip.AddrPort) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer func() { _ = theirs.Close() }()
			r, err := http.ReadRequest(bufio.NewReader(theirs))
			if err != nil {
				return
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			said := result(path.Base(r.URL.Path), body)
			_, _ = io.WriteString(theirs, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"+`{"ok":true,"result":`+said+"}")
		}()
		return ours, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return network
}

// TestRun_Idle checks that an hour without messages, on a server that holds each poll for the requested
// time, causes no error.
func TestRun_Idle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var polls atomic.Int64
		network := serveResults(t, func(method string, body []byte) string {
			switch method {
			case "getMe":
				return `{"id":1,"username":"HobBot"}`
			case "getUpdates":
				polls.Add(1)
				var p struct{ Timeout int }
				_ = json.Unmarshal(body, &p)
				time.Sleep(time.Duration(p.Timeout)*time.Second + 300*time.Millisecond) // plus the time for the response to arrive
				return "[]"
			}
			return "true"
		})
		var log strings.Builder
		ch, err := telegram.New(telegram.Config{Token: telegramtest.Token}, channels.Deps{
			Network: network, Keep: &channelstest.Keeper{}, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
		}, telegram.Options{Base: "http://127.0.0.1:1"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- ch.Run(ctx, &channelstest.Inbox{}) }()
		time.Sleep(time.Hour)
		said := ch.DescribeStatus()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if log.String() != "" || !strings.HasPrefix(said, "connected as @HobBot for 1h0m0s") {
			t.Errorf("status %q, log %s", said, log.String())
		}
		if n := polls.Load(); n > 240 {
			t.Errorf("%d polls in an hour", n)
		}
		time.Sleep(time.Minute) // so that idle connections close
	})
}

// TestSend_SlowUpload checks that the upload of a large file may take as long as the caller of Send
// allows.
func TestSend_SlowUpload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "film.mp4")
	if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var size atomic.Int64
		network := serveResults(t, func(_ string, body []byte) string {
			size.Store(int64(len(body)))
			time.Sleep(2 * time.Minute)
			return `{"message_id":5}`
		})
		ch, err := telegram.New(telegram.Config{Token: telegramtest.Token}, channels.Deps{Network: network}, telegram.Options{Base: "http://127.0.0.1:1"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		d := newReply("d", "7", "Here")
		d.Files = []channels.Attachment{{Name: "film.mp4", MIME: "video/mp4", Size: 1 << 20, Path: file}}
		if r, err := ch.Send(ctx, d); err != nil || r.ID != "5" || size.Load() < 1<<20 {
			t.Errorf("Send = %+v, %v, uploaded %d bytes", r, err, size.Load())
		}
		if n := ch.Limits().MaxFile; n != 50<<20 { // https://core.telegram.org/bots/api#senddocument
			t.Errorf("MaxFile = %d", n)
		}
		time.Sleep(time.Minute) // so that idle connections close
	})
}
