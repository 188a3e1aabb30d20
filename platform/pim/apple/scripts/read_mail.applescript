-- One message with its text. It stays unread. "whose id is" has an index.
on main(request)
	my awake()
	with timeout of 50 seconds
		set theBox to my box(my textOf(request, "folder"))
		set wanted to my numberOf(request, "ident")
		tell application id "com.apple.mail"
			set found to first message of theBox whose id is wanted
			set theTopic to subject of found
			set theSender to sender of found
			set theMoment to date received of found
			set theSeen to read status of found
			set theHead to all headers of found
			set theBody to content of found
			set theFiles to {}
			try
				set theFiles to name of every mail attachment of found
			end try
		end tell
	end timeout
	set most to my numberOf(request, "most")
	set cutShort to false
	if (length of theBody) is greater than most then
		set theBody to text 1 thru most of theBody
		set cutShort to true
	end if
	return {topic:theTopic, fromWhom:theSender, receivedMs:my millis(theMoment), seenAlready:theSeen, headText:theHead, bodyText:theBody, cutShort:cutShort, fileNames:theFiles}
end main
