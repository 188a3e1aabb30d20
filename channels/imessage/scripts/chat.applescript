-- Sends to a chat that is there, by its id: a chat by another name is never taken.
on main(request)
	my awake()
	set theThing to my payload(request)
	set theTarget to my textOf(request, "target")
	with timeout of 12 seconds
		tell application id "com.apple.MobileSMS"
			set found to id of chat id theTarget
			if (found as text) is not theTarget then error "another chat" number -1728
			my commence()
			send theThing to chat id theTarget
		end tell
	end timeout
	return {taken:true}
end main
