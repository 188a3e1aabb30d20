package discord

import (
	"encoding/json"

	"hob/channels"
)

// Inbound converts the JSON of a message.
func (c *Channel) Inbound(raw []byte) (channels.Inbound, bool) {
	var m message
	if json.Unmarshal(raw, &m) != nil {
		return channels.Inbound{}, false
	}
	return c.toInbound(&m)
}

// Events handles JSON as the data of each kind of event that changes the channel's state.
func (c *Channel) Events(raw []byte) {
	_ = c.signedIn(raw)
	_ = c.addGuild(raw)
	c.renameChannel(raw)
	c.removeGuild(raw)
	var i interaction
	if json.Unmarshal(raw, &i) == nil && i.isComplete() {
		c.commandInbound(&i, replyContext{})
		_, _, _ = parseButtonID(i.Data.Button)
	}
	_, _ = c.gatewayURL(string(raw))
}

// Nonce returns the nonce of a delivery.
func Nonce(id string) string { return deliveryNonce(id) }
