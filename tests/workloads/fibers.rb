# Ruby's fibers, each on a stack of its own, for 3 s.
def work(depth)
  depth.zero? ? (1..20).map { |i| (i * 31).to_s }.sort.join.hash : work(depth - 1)
end

finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 3
while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
  fiber = Fiber.new { 100.times { |i| Fiber.yield work(i % 7) } }
  fiber.resume while fiber.alive?
  Enumerator.new { |y| 50.times { |i| y << work(i % 3) } }.tap { |e| 40.times { e.next } }
end
