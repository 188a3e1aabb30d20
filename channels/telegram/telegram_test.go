package telegram_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/autonomy/intake/chattext"
	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/telegram"
	"hob/channels/telegram/telegramtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	channelstest.Conform(t, func(t *testing.T) (channels.Channel, channelstest.Platform) {
		a := telegramtest.New(t)
		return a.Open(), a
	})
}

type object = telegramtest.Object

// awaitListening waits until the channel has skipped the messages from before its start.
func awaitListening(t *testing.T, a *telegramtest.Server) {
	t.Helper()
	channelstest.Until(t, "the bot listens", func() bool { return a.Called("getUpdates") >= 2 })
}

func TestConfiguration(t *testing.T) {
	for _, c := range []telegram.Config{{}, {Token: "nonsense"}, {Token: "1:../../evilevil"}, {Token: telegramtest.Token, Allow: []string{"@ada"}}} {
		if _, err := telegram.New(c, channels.Deps{}, telegram.Options{}); err == nil || strings.Contains(err.Error(), "evil") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	ch, err := telegram.Driver{}.New(func(v any) error {
		v.(*telegram.Config).Token = "env:TG" //nolint:forcetypeassert // the driver's own type
		return nil
	}, channels.Deps{Secret: func(string) (string, error) { return telegramtest.Token, nil }})
	if err != nil || ch == nil {
		t.Error(err)
	}
}

// TestSecrets checks that every URL contains the token, and no error or log does.
func TestSecrets(t *testing.T) {
	a := telegramtest.New(t)
	var logged bytes.Buffer
	a.Deps.Log = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ch := a.Open()
	echo := func(w http.ResponseWriter) {
		telegramtest.Refuse(w, 400, "Bad Request: /bot"+telegramtest.Token+"/x "+telegramtest.Secret, nil)
	}
	var said []string
	note1 := newReply("d", "7", "x")
	for _, f := range []func(http.ResponseWriter){
		echo,
		func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>"+telegramtest.Token) },
		func(w http.ResponseWriter) {
			w.Header().Set("Location", "https://evil.example/bot"+telegramtest.Token)
			w.WriteHeader(http.StatusFound)
		},
		func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		func(w http.ResponseWriter) { telegramtest.Grant(w, telegramtest.Token) },
	} {
		a.With(func() { a.Fails, a.PollFails = []func(http.ResponseWriter){f}, []func(http.ResponseWriter){f} })
		_, err := ch.Send(t.Context(), note1)
		if err == nil {
			t.Error("New returned no error")
			continue
		}
		said = append(said, err.Error())
	}
	end := channelstest.Running(t, ch, &channelstest.Inbox{})
	awaitListening(t, a)
	_ = end()
	a.Down()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := ch.Send(ctx, note1)
	said = append(said, fmt.Sprint(err), fmt.Sprintf("%+v", err), ch.DescribeStatus())
	_, err = ch.Test(ctx)
	said = append(said, fmt.Sprint(err), logged.String())
	_ = ch.Run(ctx, &channelstest.Inbox{})
	said = append(said, logged.String(), ch.DescribeStatus())
	for _, s := range said {
		if strings.Contains(s, telegramtest.Secret) {
			t.Errorf("the text contains the token: %s", s)
		}
	}
}

func TestErrors(t *testing.T) {
	a := telegramtest.New(t)
	ch := a.Open()
	for _, c := range []struct {
		code  int
		said  string
		class channels.Class
		maybe bool
	}{
		{400, "Bad Request: chat not found", channels.Permanent, false},
		{401, "Unauthorized", channels.Unauthorized, false},
		{403, "Forbidden: bot was kicked from the group chat", channels.Permanent, false},
		{404, "Not Found", channels.Unauthorized, false},
		{500, "Internal Server Error", channels.Temporary, true},
		{502, "Bad Gateway", channels.Temporary, true},
	} {
		a.With(func() {
			a.Fails = []func(http.ResponseWriter){func(w http.ResponseWriter) { telegramtest.Refuse(w, c.code, c.said, nil) }}
		})
		_, err := ch.Send(t.Context(), newReply("d", "7", "x"))
		e, ok := errors.AsType[*channels.Error](err)
		if !ok || e.Class != c.class || e.MaybeSent != c.maybe {
			t.Errorf("%d: %v (%+v)", c.code, err, e)
		}
	}
	a.Fail(channels.Later, 1)
	_, err := ch.Send(t.Context(), newReply("d", "7", "x"))
	if e, ok := errors.AsType[*channels.Error](err); !ok || time.Until(e.RetryAt) < 50*time.Second || time.Until(e.RetryAt) > 61*time.Second {
		t.Errorf("429: %+v", e)
	}
}

// TestCommands checks that the channel announces the same commands as the engine.
func TestCommands(t *testing.T) {
	list, err := os.ReadFile("commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	about := map[string]string{}
	for _, c := range chattext.Commands() {
		for _, name := range c.Names {
			about[name] = c.About
		}
	}
	for line := range strings.Lines(string(list)) {
		name, text, ok := strings.Cut(strings.TrimSpace(line), " - ")
		// https://core.telegram.org/bots/api#botcommand
		if !ok || !regexp.MustCompile(`^[a-z0-9_]{1,32}$`).MatchString(name) || len(text) > 256 {
			t.Errorf("%q is not a valid command", line)
		}
		if about[name] != text {
			t.Errorf("the description of command %q differs from the engine's", line)
		}
	}
}
