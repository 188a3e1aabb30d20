package discord

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"unicode/utf16"

	"hob/channels"
	"hob/platform/text/markup"
)

// post is the body of "Create Message" and "Edit Message".
type post struct {
	Content    string            `json:"content"`
	Nonce      string            `json:"nonce,omitempty"`
	Enforce    bool              `json:"enforce_nonce,omitempty"`
	Flags      int               `json:"flags"`
	Mentions   allowedMentions   `json:"allowed_mentions"`
	Components []row             `json:"components"`
	Reference  *messageReference `json:"message_reference,omitempty"`
	// Files lists all files of the message after an edit: an edit removes the files that are not
	// listed ("Edit Message").
	Files []attachedFile `json:"attachments,omitempty"`
}

// attachedFile is the metadata of the file uploaded as files[ID].
type attachedFile struct {
	ID   int    `json:"id"`
	Name string `json:"filename"`
}

// allowedMentions with an empty list prevents notifications ("Allowed Mentions Object").
type allowedMentions struct {
	Parse   []string `json:"parse"`
	Replied bool     `json:"replied_user"`
}

type messageReference struct {
	Message string `json:"message_id"`
	Must    bool   `json:"fail_if_not_exists"`
}

type (
	row struct {
		Type  int   `json:"type"` // 1 means a row of buttons
		Parts []key `json:"components"`
	}
	key struct {
		Type  int    `json:"type"`  // 2 means a button
		Style int    `json:"style"` // 3: green, 4: red
		Label string `json:"label"`
		ID    string `json:"custom_id"`
	}
)

// deliveryNonce returns the nonce of a delivery, at most 25 characters.
func deliveryNonce(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:12])
}

// withDefaults sets the fields common to all messages.
func (p post) withDefaults() post {
	p.Flags |= flagNoEmbeds
	p.Mentions.Parse = []string{}
	if p.Components == nil {
		p.Components = []row{}
	}
	return p
}

// renderMarkup returns text in Discord's markup, or unchanged if the result is too long or empty.
func renderMarkup(text string) string {
	if s := markup.Discord(text); utf16Length(s) <= maxText && strings.TrimSpace(s) != "" {
		return s
	}
	return text
}

func utf16Length(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

// approvalButtons returns the buttons below a question.
func approvalButtons(question string) []row {
	return []row{{1, []key{{2, 3, "Approve", buttonYes + question}, {2, 4, "Deny", buttonNo + question}}}}
}

// postMessage sends a message with its files, as described in "Uploading Files".
func (c *Channel) postMessage(ctx context.Context, k apiCall, p post, files []channels.Attachment) (message, error) {
	for n, f := range files {
		p.Files = append(p.Files, attachedFile{n, f.Name})
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return message{}, channels.Errorf(channels.Permanent, "discord: %s: %w", k.what, err)
	}
	k.mime, k.body = "application/json", raw
	if len(files) > 0 {
		if k.mime, k.body, err = encodeForm(raw, files); err != nil {
			return message{}, channels.Errorf(channels.Permanent, "discord: %s: %w", k.what, err)
		}
	}
	var sent message
	err = c.doRequest(ctx, k, &sent)
	if e, ok := errors.AsType[*channels.Error](err); ok && k.method == http.MethodPatch {
		e.MaybeSent = false // a repeated message is harmless
	}
	return sent, err
}

func encodeForm(raw []byte, files []channels.Attachment) (kind string, body []byte, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.WriteField("payload_json", string(raw)); err != nil {
		return "", nil, err
	}
	for n, f := range files {
		if f.Size > maxFile {
			return "", nil, fmt.Errorf("the file %q is larger than Discord's limit of 10 MB", f.Name)
		}
		data, err := os.ReadFile(f.Path)
		if err != nil {
			return "", nil, fmt.Errorf("read the file %q: %w", f.Name, err)
		}
		part, err := w.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {multipart.FileContentDisposition("files["+strconv.Itoa(n)+"]", f.Name)},
			"Content-Type":        {cmp.Or(f.MIME, "application/octet-stream")},
		})
		if err != nil {
			return "", nil, err
		}
		if _, err := part.Write(data); err != nil {
			return "", nil, err
		}
	}
	if err := w.Close(); err != nil {
		return "", nil, err
	}
	return w.FormDataContentType(), b.Bytes(), nil
}

// batchFiles groups files by the limits of one message.
func batchFiles(files []channels.Attachment) (first []channels.Attachment, rest [][]channels.Attachment) {
	const most = maxFile // maximum bytes per request
	var all [][]channels.Attachment
	var now []channels.Attachment
	size := int64(0)
	for _, f := range files {
		if len(now) > 0 && (len(now) == maxFiles || size+f.Size > most) {
			all, now, size = append(all, now), nil, 0
		}
		now, size = append(now, f), size+f.Size
	}
	if all = append(all, now); len(all) == 1 {
		return now, nil
	}
	return all[0], all[1:]
}
