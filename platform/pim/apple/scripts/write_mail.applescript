-- Sends a message, or keeps it among the drafts. That it was sent means that Mail
-- has taken it: it may wait in the outbox.
on main(request)
	my awake()
	set keepOnly to (my textOf(request, "how")) is "draft"
	set theTopic to my textOf(request, "topic")
	set theBody to my textOf(request, "bodyText")
	set theTo to (request's valueForKey:"toList") as list
	set theCc to (request's valueForKey:"ccList") as list
	set theBcc to (request's valueForKey:"bccList") as list
	with timeout of 50 seconds
		tell application id "com.apple.mail"
			my commence()
			set letter to make new outgoing message with properties {subject:theTopic, content:theBody, visible:false}
			tell letter
				repeat with oneAddress in theTo
					make new to recipient at end of to recipients with properties {address:(oneAddress as text)}
				end repeat
				repeat with oneAddress in theCc
					make new cc recipient at end of cc recipients with properties {address:(oneAddress as text)}
				end repeat
				repeat with oneAddress in theBcc
					make new bcc recipient at end of bcc recipients with properties {address:(oneAddress as text)}
				end repeat
			end tell
			if keepOnly then
				save letter
				return {taken:true}
			end if
			set taken to send letter
		end tell
	end timeout
	return {taken:taken}
end main
