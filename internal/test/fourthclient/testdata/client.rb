# frozen_string_literal: true

# A client with a socket and a watch, written from clients/conformance alone. It shows that the
# files and their README are enough for a language that has no client. It is no product.

require 'base64'
require 'io/wait'
require 'json'
require 'monitor'
require 'net/http'
require 'securerandom'
require 'socket'
require 'uri'

class CallError < StandardError
  BY_STATUS = { 400 => 'invalid_argument', 401 => 'unauthenticated', 403 => 'permission_denied', 404 => 'unimplemented',
                429 => 'resource_exhausted', 502 => 'unavailable', 503 => 'unavailable', 504 => 'unavailable' }.freeze
  LASTING = %w[invalid_argument unauthenticated permission_denied unimplemented not_found].freeze

  attr_reader :code, :retry_after, :request_id

  def initialize(code, retry_after: nil, request_id: '')
    super(code)
    @code, @retry_after, @request_id = code, retry_after, request_id
  end

  def self.of(status, headers, body)
    headers = headers.transform_keys(&:downcase)
    said = begin JSON.parse(body) rescue JSON::ParserError end
    code = said.is_a?(Hash) && said['code'] || BY_STATUS.fetch(status, 'unknown')
    new(code, retry_after: Float(headers['retry-after'], exception: false), request_id: headers.fetch('x-request-id', ''))
  end

  def again? = code == 'unavailable' || (code == 'resource_exhausted' && !retry_after.nil?)
  def lasting? = LASTING.include?(code)
end

class Stamp
  attr_reader :parts

  def initialize(text)
    raise ArgumentError, "no stamp: #{text.inspect}" unless text.match?(/\A[0-9]+(\.[0-9]+){3}\z/)

    @parts = text.split('.').map(&:to_i)
  end

  def dominates?(other) = parts.zip(other.parts).all? { |a, b| a >= b }
end

class Backoff
  attr_reader :least, :most

  def initialize(least: 0.25, most: 20, random: -> { rand })
    @least, @most, @random, @tries = least, most, random, 0
  end

  def next(bound = 0)
    bound = [@most, [bound, @least * 2**[@tries, 30].min].max].min
    @tries += 1
    bound / 2.0 + bound / 2.0 * @random.call
  end

  def reset = @tries = 0
end

# What a user sees. It never changes: a frame makes another one.
class Inbox
  attr_reader :known, :channels, :threads, :totals

  def initialize(known: false, channels: {}, threads: {}, totals: {})
    @known, @channels, @threads, @totals = known, channels, threads, totals
  end

  def self.of(frame)
    new(known: true, channels: frame['channels'].to_h { |c| [c['channel_id'], c] },
        threads: frame['threads'].to_h { |t| [[t['channel_id'], t['thread_id']], t] }, totals: frame['totals'])
  end

  def badge = known ? totals['badge'] || totals.values_at('unread', 'thread_unread').sum : nil

  def with(frame)
    return self unless known

    thread = frame['thread_id']
    key = thread ? [frame['channel_id'], thread] : frame['channel_id']
    all = (thread ? threads : channels).dup
    old = all[key]
    if old && old['stamp'] && frame['stamp'] && old['stamp'] != frame['stamp'] && Stamp.new(old['stamp']).dominates?(Stamp.new(frame['stamp']))
      return self
    end

    gone = thread ? frame['followed'] == false : frame['member'] == false
    gone ? all.delete(key) : all[key] = frame
    Inbox.new(known: true, channels: thread ? channels : all, threads: thread ? all : threads, totals: frame['totals'])
  end

  def sorted = listed.reject { |c| c['archived'] }.map { |c| c['channel_id'] }
  def archived = listed.select { |c| c['archived'] }.map { |c| c['channel_id'] }

  private

  def listed
    time = ->(c) { c.dig('latest', 'at').to_s }
    channels.values.sort do |a, b|
      first = ->(c) { c['unread'].to_i.positive? || c['flagged'] ? 0 : 1 }
      [first[a], time[b], a['channel_id']] <=> [first[b], time[a], b['channel_id']]
    end
  end
end

# Frames of a WebSocket (RFC 6455) over a socket that is open.
class Wire
  def initialize(io, masks:)
    @io, @masks, @lock = io, masks, Mutex.new
  end

  def send(text, opcode = 1)
    data = text.b
    size = data.bytesize
    bit = @masks ? 0x80 : 0
    head = [0x80 | opcode].pack('C') + (size < 126 ? [bit | size].pack('C') : size < 65_536 ? [bit | 126, size].pack('Cn') : [bit | 127, size].pack('CQ>'))
    if @masks
      mask = SecureRandom.bytes(4)
      data = mask + data.bytes.each_with_index.map { |b, i| b ^ mask.getbyte(i % 4) }.pack('C*')
    end
    @lock.synchronize { @io.write(head + data) }
  end

  # Returns a text, or the close code as a number. Raises EOFError if the connection breaks off.
  def receive
    loop do
      first, second = @io.readpartial_all(2).bytes
      size = second & 0x7f
      size = @io.readpartial_all(2).unpack1('n') if size == 126
      size = @io.readpartial_all(8).unpack1('Q>') if size == 127
      mask = second & 0x80 == 0 ? nil : @io.readpartial_all(4)
      data = @io.readpartial_all(size)
      data = data.bytes.each_with_index.map { |b, i| b ^ mask.getbyte(i % 4) }.pack('C*') if mask
      case first & 0x0f
      when 1 then return data.force_encoding('UTF-8')
      when 8 then return data.bytesize >= 2 ? data.unpack1('n') : 1005
      when 9 then send(data, 10)
      end
    end
  end
end

class IO
  # Reads exactly so many bytes.
  def readpartial_all(size)
    return +'' if size.zero?

    read(size).tap { |data| raise EOFError if data.nil? || data.bytesize < size }
  end
end

# One device of one user, which stays connected until close.
class Device
  Command = Struct.new(:frame, :answer, :sent)

  attr_reader :inbox, :quiet, :answer, :backoff

  def initialize(url, token:, quiet: 60, answer: 10, backoff: Backoff.new, on_wait: ->(_) {})
    @url, @token, @quiet, @answer, @backoff, @on_wait = URI(url), token, quiet, answer, backoff, on_wait
    @inbox, @focused, @heads, @commands, @names, @lock = Inbox.new, [], Hash.new(0), {}, 0, Monitor.new
    @thread = Thread.new { run }
  end

  def close
    @thread.kill
    @thread.join
  end

  def focus(channel)
    @lock.synchronize { @focused |= [channel] }
    say('type' => 'channel.focus', 'channel_id' => channel)
  end

  def blur(channel)
    @lock.synchronize { @focused -= [channel] }
    say('type' => 'channel.blur', 'channel_id' => channel)
  end

  # Commands return a queue, which gets the tokens or a CallError.
  def mark_read(channel, message) = ask('type' => 'mark_read', 'channel_id' => channel, 'message_id' => message)

  def mark_unread(channel, message)
    head = [@heads[channel], @inbox.channels.dig(channel, 'latest', 'seq') || 0].max
    ask({ 'type' => 'mark_unread', 'channel_id' => channel, 'message_id' => message }.merge(head.positive? ? { 'head_seq' => head } : {}))
  end

  private

  def run
    loop do
      code = connection
      wait = @backoff.next(code == 4429 ? 4 : 0)
      @on_wait.call(wait)
      sleep wait
    end
  end

  # Runs one connection until it ends, and returns its close code.
  def connection
    io = TCPSocket.new(@url.host, @url.port)
    io.write("GET /v1/socket HTTP/1.1\r\nHost: #{@url.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" \
             "Sec-WebSocket-Key: #{Base64.strict_encode64(SecureRandom.bytes(16))}\r\nAuthorization: Bearer #{@token.call}\r\n\r\n")
    return 0 unless io.gets.to_s.include?(' 101 ')

    nil until io.gets == "\r\n"
    wire = Wire.new(io, masks: true)
    asked = true # the first frame is awaited like an answer
    loop do
      unless io.wait_readable(asked ? @answer : @quiet)
        return 1006 if asked

        asked = true
        wire.send(JSON.generate('type' => 'sync', 'id' => name))
        next
      end
      text = wire.receive
      return text if text.is_a?(Integer)

      asked = false
      frame = JSON.parse(text)
      return 1003 unless frame.is_a?(Hash)

      take(frame, wire)
    end
  rescue IOError, SystemCallError, JSON::ParserError
    1006
  ensure
    @lock.synchronize { @wire = nil }
    io&.close
  end

  def take(frame, wire)
    @lock.synchronize do
      case frame['type']
      when 'hello'
        @wire = wire
        @focused.each { |channel| say('type' => 'channel.focus', 'channel_id' => channel) }
        @commands.each { |id, c| write(id, c) }
      when 'inbox'
        @backoff.reset
        @inbox = Inbox.of(frame)
      when 'unread.updated' then @inbox = @inbox.with(frame)
      when 'message.new' then @heads[frame['channel_id']] = [@heads[frame['channel_id']], frame['seq']].max
      when 'ack', 'error' then answered(frame)
      end
    end
  end

  def answered(frame)
    command = @commands[frame['id']] or return
    return again(frame['id']) if frame['code'] == 'resource_exhausted'

    @commands.delete(frame['id'])
    command.answer << (frame['type'] == 'ack' ? frame['after'] : CallError.new(frame['code']))
  end

  # Sends a refused command and all later ones about its channel again, under new ids.
  def again(id)
    channel = @commands[id].frame['channel_id']
    late = @commands.keys.drop_while { |other| other != id }.select { |other| @commands[other].frame['channel_id'] == channel }
    late.map { |other| @commands.delete(other) }.each { |c| add(c) }
  end

  def ask(frame) = Queue.new.tap { |answer| @lock.synchronize { add(Command.new(frame, answer)) } }

  def add(command)
    id = name
    @commands[id] = command
    write(id, command)
  end

  def write(id, command) = @wire&.send(JSON.generate(command.frame.merge('id' => id)))
  def say(frame) = @lock.synchronize { @wire&.send(JSON.generate(frame.merge('id' => name))) }
  def name = "r#{@lock.synchronize { @names += 1 }}"
end

# Yields the snapshots and updates of a user. It ends with a CallError.
class Watch
  QUIET = 60

  def initialize(url, token:, quiet: QUIET, backoff: Backoff.new)
    @url, @token, @quiet, @backoff = URI(url), token, quiet, backoff
  end

  def each(user, after, &event)
    seen = latest(after)
    loop do
      begin
        stream(user, seen) do |m|
          seen = latest(seen + (m['as_of'] || []))
          @backoff.reset if m['snapshot']
          event.call(m) if m['snapshot'] || m['update']
        end
        wait = 0
      rescue CallError => e
        raise if e.lasting?

        wait = e.retry_after || 0
      rescue IOError, SystemCallError, Timeout::Error, Net::HTTPBadResponse
        wait = 0
      end
      sleep [@backoff.next, wait].max
    end
  end

  private

  def latest(tokens)
    tokens.group_by { |t| t[0...t.rindex('/')] }.map { |_, same| same.max_by { |t| t[(t.rindex('/') + 1)..].to_i } }
  end

  def stream(user, after)
    body = JSON.generate({ user_id: user }.merge(after.empty? ? {} : { after: after }))
    request = Net::HTTP::Post.new('/tidemark.query.v1.QueryService/WatchUnread', 'Content-Type' => 'application/connect+json',
                                                                                 'Connect-Protocol-Version' => '1', 'Authorization' => "Bearer #{@token.call}")
    request.body = [0, body.bytesize].pack('CN') + body
    Net::HTTP.start(@url.host, @url.port, read_timeout: @quiet, max_retries: 0) do |http|
      http.request(request) do |response|
        raise CallError.of(response.code.to_i, response.each_header.to_h, response.read_body) unless response.code == '200'

        left = +''.b
        response.read_body do |data|
          left << data
          while left.bytesize >= 5 && left.bytesize >= 5 + (size = left[1, 4].unpack1('N'))
            flags = left.getbyte(0)
            message = JSON.parse(left[5, size])
            left = left[(5 + size)..]
            raise CallError, message['error']['code'] if flags == 2 && message['error']
            return if flags == 2

            yield message
          end
        end
      end
    end
  end
end
