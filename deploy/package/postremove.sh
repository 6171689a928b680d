#!/bin/sh
# Removing and purging leave the user and /var/lib/tidemark: the stores may be wanted, and their files have the user's number.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
