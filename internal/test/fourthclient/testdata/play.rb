# frozen_string_literal: true

# Plays the files of clients/conformance with client.rb: play.rb FOLDER. The last line is
# "N passed, N failed".

require 'digest'
require 'monitor'
require 'timeout'
require_relative 'client'

Thread.report_on_exception = true
$passed = $failed = 0

def check(name)
  Timeout.timeout(60) { yield }
  $passed += 1
rescue StandardError => e
  $failed += 1
  puts "#{name}: #{e.class}: #{e.message.lines.first(3).join} #{e.backtrace.first}"
end

def same(got, want) = got == want || raise("#{got.inspect}, want #{want.inspect}")
def vectors(name) = JSON.parse(File.read(File.join(ARGV[0], name)))

def head_of(io)
  lines = []
  while (line = io.gets.to_s.chomp) != ''
    lines << line
  end
  [lines.first.to_s, lines.drop(1).to_h { |l| l.split(': ', 2) }.transform_keys(&:downcase)]
end

# The gateway of a session.
class Session
  def initialize(timing)
    @server, @tokens, @ids, @replies, @waits = TCPServer.new('127.0.0.1', 0), 0, [], [], Queue.new
    times = timing.slice('quiet', 'answer').transform_keys(&:to_sym)
    @device = Device.new("http://127.0.0.1:#{@server.addr[1]}", token: -> { "t#{@tokens += 1}" }, on_wait: ->(s) { @waits << s },
                         backoff: Backoff.new(least: timing.fetch('least', 0.001), most: timing.fetch('most', 0.002)), **times)
  end

  def play(steps)
    steps.each { |s| method(s.keys.first).call(s.values.first, s) }
  ensure
    @device.close
    @server.close
    @io&.close
  end

  def accepts(token, _)
    @io = @server.accept
    line, head = head_of(@io)
    same([line.include?(token), head['authorization']], [false, "Bearer #{token}"])
    key = Base64.strict_encode64(Digest::SHA1.digest("#{head['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
    @io.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: #{key}\r\n\r\n")
    @wire, @used = Wire.new(@io, masks: false), []
  end

  def sends(frames, _) = frames.each { |f| @wire.send(f.is_a?(String) ? f : JSON.generate(f)) }
  def closes(code, _) = @wire.send([code].pack('n'), 8)

  def leaves(*)
    text = @wire.receive
    raise "it does not leave, but sends #{text}" unless text.is_a?(Integer)
  rescue EOFError, SystemCallError
    nil
  end

  def calls(call, _)
    result = @device.public_send(call['command'], *call.values_at('channel', 'message').compact)
    @replies << result if call['command'].start_with?('mark')
  end

  def receives(want, _)
    frame = JSON.parse(@wire.receive)
    same(frame.slice(*want.keys), want)
    raise "the id is used again: #{frame}" if @used.include?(frame['id'])

    @used << frame['id']
    @ids << frame['id']
  end

  def answers(n, step)
    frame = step['code'] ? { type: 'error', code: step['code'], message: 'planned' } : { type: 'ack', after: step['after'] }
    @wire.send(JSON.generate(frame.merge(id: @ids[n - 1])))
  end

  def returns(after, _) = same(@replies.shift.pop, after)
  def fails(code, _) = same(@replies.shift.pop.code, code)

  def waits(want, _)
    wait = @waits.pop
    raise "it waits for #{wait} s" unless wait.between?(want['least'], want['most'])
  end

  def shows(want, _)
    shown = -> { { 'badge' => @device.inbox.badge, 'unread' => @device.inbox.channels.transform_values { |c| c['unread'] } } }
    return same(@device.inbox.badge, nil) if want['badge'].nil?

    deadline = Time.now + 30
    sleep 0.001 until shown.call == want || Time.now > deadline
    same(shown.call, want)
  end
end

# The node of a watch.
class Played
  def initialize(after, timing)
    @server, @tokens, @shown, @failed, @ended = TCPServer.new('127.0.0.1', 0), 0, Queue.new, Queue.new, Time.at(0)
    watch = Watch.new("http://127.0.0.1:#{@server.addr[1]}", token: -> { "t#{@tokens += 1}" }, quiet: timing.fetch('quiet', Watch::QUIET))
    @thread = Thread.new do
      watch.each('ann', after) { |m| @shown << (m['snapshot'] || m['update'])['totals']['badge'] }
    rescue CallError => e
      @failed << e.code
    end
  end

  def play(steps)
    steps.each { |s| method(s.keys.first).call(s.values.first, s) }
  ensure
    @thread.kill
    @server.close
  end

  def accepts(token, step)
    @io = @server.accept
    _, head = head_of(@io)
    request = JSON.parse(@io.read(head['content-length'].to_i)[5..])
    same([head['authorization'], request['user_id'], (request['after'] || []).sort], ["Bearer #{token}", 'ann', step['after'].sort])
    raise 'it comes too early' if Time.now - @ended < step.fetch('waited', 0)

    @begun = false
  end

  def write(data)
    @io.write("HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nTransfer-Encoding: chunked\r\n\r\n") unless @begun
    @begun = true
    @io.write("#{data.bytesize.to_s(16)}\r\n".b + data + "\r\n")
  end

  def envelope(message, flags = 0) = JSON.generate(message).b.then { |body| [flags, body.bytesize].pack('CN') + body }
  def sends(messages, _) = messages.each { |m| write(envelope(m)) }

  def cuts(message, _)
    data = envelope(message)
    write(data[0, data.bytesize / 2])
    breaks
  end

  def breaks(*)
    @ended = Time.now
    @io.close
  end

  def ends(code, _)
    write(envelope(code.empty? ? {} : { error: { code: code, message: 'planned' } }, 2))
    @io.write("0\r\n\r\n")
    breaks
  end

  def refuses(status, step)
    body = JSON.generate(code: step['code'], message: 'planned')
    wait = step['retry_after'] ? "Retry-After: #{step['retry_after']}\r\n" : ''
    @io.write("HTTP/1.1 #{status} Planned\r\n#{wait}Connection: close\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}")
    breaks
  end

  def leaves(*)
    begin
      same(@io.read(1), nil)
    rescue SystemCallError
      nil
    end
    breaks
  end

  def passes(seconds, _) = sleep(seconds)
  def shows(badge, _) = same(@shown.pop, badge)

  def fails(code, _)
    same(@failed.pop, code)
    same(@shown.size, 0)
  end
end

vectors('stamps.json').then do |v|
  v['dominates'].each { |p| check("stamps #{p}") { same(Stamp.new(p['a']).dominates?(Stamp.new(p['b'])), p['is']) } }
  v['malformed'].each do |text|
    check("stamp #{text.inspect}") do
      Stamp.new(text)
    rescue ArgumentError
      nil
    else
      raise 'it is read'
    end
  end
end
vectors('backoff.json').each do |v|
  check("backoff: #{v['name']}") do
    b = Backoff.new(least: v['min'], most: v['max'], random: -> { v['random'] })
    same(v['asked'].map { |bound| b.next(bound) }, v['waits'])
  end
end
vectors('times.json').then do |v|
  check('times') do
    device = Device.new('http://127.0.0.1:1', token: -> { '' })
    device.close
    got = { 'quiet' => device.quiet, 'answer' => device.answer, 'stream_quiet' => Watch::QUIET,
            'wait' => { 'least' => Backoff.new.least, 'most' => Backoff.new.most } }
    same(got, v.slice('quiet', 'answer', 'stream_quiet', 'wait')) # it has no time for a command
  end
end
vectors('errors.json').each do |v|
  check("errors: #{v['name']}") do
    e = CallError.of(v['status'], v['headers'], v['body'])
    same([e.code, e.retry_after, e.again?, e.request_id], [v['code'], v['retry_after'], v['again'], v.fetch('request_id', '')])
  end
end
vectors('frames.json').each do |v|
  check("frames: #{v['name']}") do
    i = v['frames'].reduce(Inbox.new) { |inbox, f| f['type'] == 'inbox' ? Inbox.of(f) : inbox.with(f) }
    unread = ->(all) { all.to_h { |k, x| [Array(k).join(' '), x['unread']] } }
    same({ 'known' => i.known, 'badge' => i.badge, 'channels' => unread[i.channels], 'threads' => unread[i.threads], 'sorted' => i.sorted, 'archived' => i.archived },
         v.slice('known', 'badge', 'channels', 'threads', 'sorted', 'archived'))
  end
end
vectors('sessions.json').each { |v| check("session: #{v['name']}") { Session.new(v.fetch('timing', {})).play(v['steps']) } }
vectors('watches.json').each { |v| check("watch: #{v['name']}") { Played.new(v['after'], v.fetch('timing', {})).play(v['steps']) } }
puts "#{$passed} passed, #{$failed} failed"
exit $failed.zero?
