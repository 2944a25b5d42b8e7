-- Strobe in Neovim, by nvim-dap. Put this file into lua/ of the configuration, and call require('strobe').setup().

local M = {}

M.adapter = { type = 'executable', command = 'strobe', args = { 'dap' }, name = 'strobe' }

local function path(prompt)
  return function() return vim.fn.input(prompt, vim.fn.getcwd() .. '/', 'file') end
end

-- A program that runs the file itself.
local function script(program)
  return { type = 'strobe', request = 'launch', name = 'Strobe: this file', program = program, args = { '${file}' },
    cwd = '${workspaceFolder}' }
end

local binary = { type = 'strobe', request = 'launch', name = 'Strobe: a program', program = path('Program: '),
  cwd = '${workspaceFolder}' }
local core = { type = 'strobe', request = 'launch', name = 'Strobe: a core file', program = path('Program: '),
  coreFile = path('Core file: ') }
local session = { type = 'strobe', request = 'attach', name = 'Strobe: a session that runs',
  sessionId = function() return vim.fn.input('Session (strobe sessions): ') end }

M.configurations = {}
for _, language in ipairs({ 'c', 'cpp', 'rust', 'go' }) do M.configurations[language] = { binary, core, session } end
M.configurations.python = { script('python3'), session }
M.configurations.javascript = { script('node'), session }
M.configurations.typescript = { script('node'), session }

function M.setup()
  local dap = require('dap')
  dap.adapters.strobe = M.adapter
  for language, list in pairs(M.configurations) do
    dap.configurations[language] = vim.list_extend(dap.configurations[language] or {}, list)
  end
end

return M
