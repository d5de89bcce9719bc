-- Ask for decisions for subjects drawn evenly from BENCH_SUBJECTS, and print what was measured.
-- With BENCH_REWARDS=1 each answer's reward is told before the next decision is asked for.

local path = os.getenv("BENCH_PATH")
local subjects = tonumber(os.getenv("BENCH_SUBJECTS") or "1000")
local with_rewards = os.getenv("BENCH_REWARDS") == "1"
local json_header = { ["Content-Type"] = "application/json" }
local pending = {}

function init(arguments)
  math.randomseed(20261115)
end

function request()
  if path == "/" then return wrk.format("GET", path) end
  local decision = table.remove(pending)
  if decision then
    local body = string.format('{"reward":%.4f}', 1 + 4 * math.random())
    return wrk.format("PUT", "/v1/decisions/" .. decision .. "/reward", json_header, body)
  end
  local subject = string.format("s%07d", math.random(0, subjects - 1))
  return wrk.format("POST", path, json_header, '{"subject":"' .. subject .. '"}')
end

if with_rewards then
  function response(status, headers, body)
    if status == 201 then
      local decision = string.match(body, '"id":"([^"]+)"')
      if decision then table.insert(pending, decision) end
    end
  end
end

function done(summary, latency, requests)
  local failed = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"seconds":%.6f,"p50_ms":%.4f,"p99_ms":%.4f,"max_ms":%.4f,' ..
    '"bad_status":%d,"socket_errors":%d}\n',
    summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3,
    failed.status, failed.connect + failed.read + failed.write + failed.timeout))
end
