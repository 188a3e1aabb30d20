package a2aserver

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"hob/platform/net/hooksig"
	"hob/platform/net/safehttp"
	"hob/platform/retry"
	"hob/platform/store"
)

// Limits of push notifications.
const (
	maxPush      = 8 // configurations per task
	maxPushField = 2000
	pushTries    = 5
	pushTime     = 15 * time.Second
)

// pushConfig is one push notification configuration. key signs the notifications.
type pushConfig struct {
	task, id, url, token, scheme, credentials, key string
}

// PushKey returns the key that signs the push notifications for a client. The client can compute it
// from its token; the notifications themselves do not contain the token.
func PushKey(token string) string {
	m := hmac.New(sha256.New, []byte(token))
	m.Write([]byte("hob a2a push 1"))
	return hex.EncodeToString(m.Sum(nil))
}

// newPushConfig checks a configuration. The address must be public, unless [network] allow lists it.
func (s *Server) newPushConfig(c caller, p *a2a.PushConfig) (*pushConfig, error) {
	out := &pushConfig{task: string(p.TaskID), id: p.ID, url: p.URL, token: p.Token, key: PushKey(c.token)}
	if p.Auth != nil {
		out.scheme, out.credentials = p.Auth.Scheme, p.Auth.Credentials
	}
	for name, v := range map[string]string{"id": out.id, "url": out.url, "token": out.token, "authentication": out.scheme + out.credentials} {
		if len(v) > maxPushField || strings.ContainsAny(v, "\r\n\x00") {
			return nil, invalidParams("%s of the push notification configuration is too long or contains a line break", name)
		}
	}
	if out.id == "" {
		out.id = a2a.NewMessageID()
	}
	u, err := s.o.Network.Check(out.url)
	if err != nil {
		return nil, invalidParams("push notifications cannot be sent to this url: %v", err)
	}
	if u.Scheme != "https" && !safehttp.Inside(u) {
		return nil, invalidParams("the url for push notifications must begin with https://")
	}
	return out, nil
}

func (p *pushConfig) insertTx(tx *store.Tx) error {
	var n int
	if err := tx.QueryRow(`SELECT count(*) FROM a2a_push WHERE task = ? AND id <> ?`, p.task, p.id).Scan(&n); err != nil {
		return err
	}
	if n >= maxPush {
		return invalidParams("a task may have at most %d push notification configurations", maxPush)
	}
	_, err := tx.Exec(`INSERT INTO a2a_push (task, id, url, token, scheme, credentials, key) VALUES (?,?,?,?,?,?,?)
		ON CONFLICT (task, id) DO UPDATE SET url = excluded.url, token = excluded.token, scheme = excluded.scheme, credentials = excluded.credentials, key = excluded.key`,
		p.task, p.id, p.url, p.token, p.scheme, p.credentials, p.key)
	return err
}

// forClient returns the configuration for its client, without the credentials.
func (p *pushConfig) forClient() *a2a.PushConfig {
	out := &a2a.PushConfig{TaskID: a2a.TaskID(p.task), ID: p.id, URL: p.url, Token: p.token}
	if p.scheme != "" {
		out.Auth = &a2a.PushAuthInfo{Scheme: p.scheme}
	}
	return out
}

func (s *Server) pushConfigs(ctx context.Context, task string) (out []pushConfig, err error) {
	rows, err := s.o.Store.Read().QueryContext(ctx, `SELECT task, id, url, token, scheme, credentials, key FROM a2a_push WHERE task = ? ORDER BY id`, task)
	if err != nil {
		return nil, fmt.Errorf("a2a: read push notification configurations: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var p pushConfig
		if err := rows.Scan(&p.task, &p.id, &p.url, &p.token, &p.scheme, &p.credentials, &p.key); err != nil {
			return nil, fmt.Errorf("a2a: read push notification configurations: %w", err)
		}
		out = append(out, p)
	}
	return out, rows.Err()
}

// CreateTaskPushConfig implements a2asrv.RequestHandler.
func (q requests) CreateTaskPushConfig(ctx context.Context, r *a2a.PushConfig) (*a2a.PushConfig, error) {
	if _, err := q.s.ownTask(ctx, r.TaskID); err != nil {
		return nil, err
	}
	c, err := callerOf(ctx)
	if err != nil {
		return nil, err
	}
	p, err := q.s.newPushConfig(c, r)
	if err != nil {
		return nil, err
	}
	if err := q.s.o.Store.Write(ctx, p.insertTx); err != nil {
		if errors.Is(err, a2a.ErrInvalidParams) {
			return nil, err
		}
		return nil, q.s.hideError(err)
	}
	return p.forClient(), nil
}

// GetTaskPushConfig implements a2asrv.RequestHandler.
func (q requests) GetTaskPushConfig(ctx context.Context, r *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	list, err := q.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: r.TaskID})
	if err != nil {
		return nil, err
	}
	for _, p := range list.Configs {
		if p.ID == r.ID {
			return p, nil
		}
	}
	return nil, a2a.NewError(a2a.ErrTaskNotFound, "the task has no such push notification configuration")
}

// ListTaskPushConfigs implements a2asrv.RequestHandler.
func (q requests) ListTaskPushConfigs(ctx context.Context, r *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	if _, err := q.s.ownTask(ctx, r.TaskID); err != nil {
		return nil, err
	}
	list, err := q.s.pushConfigs(ctx, string(r.TaskID))
	if err != nil {
		return nil, q.s.hideError(err)
	}
	out := &a2a.ListTaskPushConfigResponse{Configs: []*a2a.PushConfig{}}
	for i := range list {
		out.Configs = append(out.Configs, list[i].forClient())
	}
	return out, nil
}

// DeleteTaskPushConfig implements a2asrv.RequestHandler. Deleting an unknown configuration does
// nothing (specification, section 3.1.10).
func (q requests) DeleteTaskPushConfig(ctx context.Context, r *a2a.DeleteTaskPushConfigRequest) error {
	if _, err := q.s.ownTask(ctx, r.TaskID); err != nil {
		return err
	}
	err := q.s.o.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM a2a_push WHERE task = ? AND id = ?`, string(r.TaskID), r.ID)
		return err
	})
	if err != nil {
		return q.s.hideError(err)
	}
	return nil
}

// pushTask sends the state of a task to the addresses that its client configured, and records it as
// sent. An address that cannot be reached is given up after several tries; the client can still
// read the task. After a crash a notification may be sent again, with the same Idempotency-Key.
func (s *Server) pushTask(ctx context.Context, task *a2a.Task) error {
	list, err := s.pushConfigs(ctx, string(task.ID))
	if err != nil {
		return err
	}
	if len(list) > 0 {
		body, err := json.Marshal(a2a.StreamResponse{Event: task})
		if err != nil {
			return fmt.Errorf("a2a: encode a push notification: %w", err)
		}
		for _, p := range list {
			if err := s.sendPush(ctx, p, task, body); err != nil {
				if ctx.Err() != nil {
					return err
				}
				s.o.Log.Warn("a2a: push notification not delivered", "task", task.ID, "err", err)
			}
		}
	}
	return s.o.Store.Write(ctx, func(tx *store.Tx) error {
		res, err := tx.Exec(`UPDATE a2a_tasks SET pushed = ? WHERE id = ?`, string(task.Status.State), string(task.ID))
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, sql.ErrNoRows)
		}
		return nil
	})
}

// isPushValid reports whether a configuration still exists and its client may still receive the
// answer.
func (s *Server) isPushValid(ctx context.Context, p pushConfig) (bool, error) {
	var client string
	err := s.o.Store.Read().QueryRowContext(ctx, `SELECT t.client FROM a2a_tasks t JOIN a2a_push p ON p.task = t.id WHERE p.task = ? AND p.id = ?`, p.task, p.id).Scan(&client)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("a2a: read push notification configurations: %w", err)
	}
	return s.o.Engine.IsClientValid(ctx, Channel, client)
}

func (s *Server) sendPush(ctx context.Context, p pushConfig, task *a2a.Task, body []byte) (err error) {
	backoff := retry.Backoff{First: time.Second, Max: 30 * time.Second, Jitter: 0.5}
	key := p.id + ":" + string(task.ID) + ":" + string(task.Status.State)
	for failures := 0; failures < pushTries; {
		if valid, err := s.isPushValid(ctx, p); err != nil || !valid {
			return err
		}
		h := http.Header{"Content-Type": {"application/a2a+json"}, a2a.SvcParamVersion: {string(a2a.Version)}}
		if p.token != "" {
			h.Set("X-A2A-Notification-Token", p.token)
		}
		if p.scheme != "" {
			h.Set("Authorization", strings.TrimSpace(p.scheme+" "+p.credentials))
		}
		hooksig.Sign(h, []byte(p.key), hooksig.Digest("a2a:", []byte(key)), body, time.Now())
		var r *safehttp.Response
		r, err = s.o.Network.Fetch(ctx, safehttp.Request{Method: http.MethodPost, URL: p.url, Header: h, Body: body, MaxBody: 64 << 10, Partial: true, Timeout: pushTime})
		if refused, ok := errors.AsType[*safehttp.Error](err); ok && refused.Refusal() {
			return err
		}
		if err == nil {
			if r.Status < 300 {
				return nil
			}
			err = fmt.Errorf("the receiver answered with status %d", r.Status)
			if r.Status < 500 && r.Status != http.StatusRequestTimeout && r.Status != http.StatusTooManyRequests {
				return err
			}
		}
		failures++
		if serr := retry.Sleep(ctx, backoff.Delay(failures)); serr != nil {
			return serr
		}
	}
	return err
}
