package telegram

import "encoding/json"

// The objects of the Bot API, with the fields that Hob uses. Unknown fields and kinds are ignored.

type update struct {
	ID       int64     `json:"update_id"`
	Message  *message  `json:"message"`
	Edited   *message  `json:"edited_message"`
	Callback *callback `json:"callback_query"`
}

type user struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"`
	// ReadsAll reports whether privacy mode is off. Only getMe sets it.
	ReadsAll bool `json:"can_read_all_group_messages"`
}

type chat struct {
	ID    int64  `json:"id"`
	Type  string `json:"type"`
	Title string `json:"title"`
}

type message struct {
	ID         int64           `json:"message_id"`
	Thread     int64           `json:"message_thread_id"`
	IsTopic    bool            `json:"is_topic_message"`
	From       *user           `json:"from"`
	SenderChat *chat           `json:"sender_chat"`
	ViaBot     *user           `json:"via_bot"`
	Date       int64           `json:"date"`
	EditDate   int64           `json:"edit_date"`
	Chat       chat            `json:"chat"`
	Forward    json.RawMessage `json:"forward_origin"`
	Album      string          `json:"media_group_id"`
	ReplyTo    *message        `json:"reply_to_message"`
	Quote      *struct {
		Text string `json:"text"`
	} `json:"quote"`
	Text            string   `json:"text"`
	Entities        []entity `json:"entities"`
	Caption         string   `json:"caption"`
	CaptionEntities []entity `json:"caption_entities"`

	Photo     []file    `json:"photo"`
	Document  *file     `json:"document"`
	Animation *file     `json:"animation"`
	Audio     *file     `json:"audio"`
	Video     *file     `json:"video"`
	VideoNote *file     `json:"video_note"`
	Voice     *file     `json:"voice"`
	Sticker   *sticker  `json:"sticker"`
	Contact   *contact  `json:"contact"`
	Location  *location `json:"location"`
	Venue     *struct {
		Title   string `json:"title"`
		Address string `json:"address"`
	} `json:"venue"`
	Poll *struct {
		Question string `json:"question"`
		Options  []struct {
			Text string `json:"text"`
		} `json:"options"`
	} `json:"poll"`
	Dice *struct {
		Emoji string `json:"emoji"`
		Value int    `json:"value"`
	} `json:"dice"`
	MigrateTo int64 `json:"migrate_to_chat_id"`

	rest    []*message // the other messages in the album that begins with this one
	changed bool       // whether the sender edited the text
}

// entity marks a part of a message's text. Offsets count UTF-16 code units.
type entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	User   *user  `json:"user"`
	URL    string `json:"url"`
}

// origin is the author of a forwarded message (MessageOrigin). The fields set depend on its kind.
type origin struct {
	User   *user  `json:"sender_user"`
	Hidden string `json:"sender_user_name"`
	Group  *chat  `json:"sender_chat"`
	Chat   *chat  `json:"chat"`
	Signed string `json:"author_signature"`
}

type file struct {
	ID     string `json:"file_id"`
	Size   int64  `json:"file_size"`
	Name   string `json:"file_name"`
	MIME   string `json:"mime_type"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
}

type sticker struct {
	Emoji string `json:"emoji"`
}

type contact struct {
	Phone     string `json:"phone_number"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
}

type location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

type callback struct {
	ID      string   `json:"id"`
	From    user     `json:"from"`
	Message *message `json:"message"`
	Data    string   `json:"data"`
}
