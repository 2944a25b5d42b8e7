;;; strobe.el --- Strobe in Emacs, by dape  -*- lexical-binding: t -*-

;; Load this file; M-x dape then offers strobe, strobe-python, strobe-node and strobe-session.

(require 'dape)

(dolist (entry
         '((strobe
            modes (c-mode c-ts-mode c++-mode c++-ts-mode rust-mode rust-ts-mode go-mode go-ts-mode)
            command "strobe" command-args ("dap") command-cwd dape-command-cwd
            :type "strobe" :request "launch" :cwd "." :program "a.out" :args [])
           (strobe-python
            modes (python-mode python-ts-mode)
            command "strobe" command-args ("dap") command-cwd dape-command-cwd
            :type "strobe" :request "launch" :cwd "." :program "python3" :args [dape-buffer-default])
           (strobe-node
            modes (js-mode js-ts-mode typescript-ts-mode)
            command "strobe" command-args ("dap") command-cwd dape-command-cwd
            :type "strobe" :request "launch" :cwd "." :program "node" :args [dape-buffer-default])
           (strobe-session
            command "strobe" command-args ("dap") command-cwd dape-command-cwd
            :type "strobe" :request "attach" :sessionId "")))
  (add-to-list 'dape-configs entry))

(provide 'strobe)
;;; strobe.el ends here
